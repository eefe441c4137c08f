// TbbArena: the interface of the module with oneTBB.
#pragma once

#include <cstddef>
#include <functional>

namespace lastref::bench {

/// oneTBB with two threads, one of which is the caller.
class TbbArena {
 public:
  TbbArena() = default;
  TbbArena(const TbbArena&) = delete;
  TbbArena& operator=(const TbbArena&) = delete;
  /// Ends the threads of the library, too.
  virtual ~TbbArena() = default;

  /// Calls act(index) for each index below `count`.
  virtual void for_each(std::size_t count, const std::function<void(std::size_t)>& act) = 0;
};

}  // namespace lastref::bench

/// Owned by the caller.
extern "C" lastref::bench::TbbArena* make_tbb_arena();
