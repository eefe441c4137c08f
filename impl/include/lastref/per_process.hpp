// PerProcess: a thing that each process has one of, a forked child its own.
//
// A fork copies what other threads of the parent are in the middle of: a monitor that they have
// locked and that nothing unlocks in the child, a map that is half changed. So a child neither uses
// nor destroys what it finds. It makes a new thing, or does without; that of its parent stays where
// it is until the child ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <lastref/os.hpp>

namespace lastref::os {

/// T is made from an Os&. May be used from any thread.
template <typename T>
class PerProcess {
 public:
  /// That of the calling process is made at once.
  explicit PerProcess(Os& os) : os_(os) { static_cast<void>(here()); }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;
  ~PerProcess() {
    if (find() != nullptr) {
      std::unique_ptr<Each>(newest_.load());
    }
  }

  /// That of the calling process. Null in a child that has made none.
  T* find() const noexcept {
    Each* const newest = newest_.load();
    return newest != nullptr && newest->process == os_.process_token() ? &newest->thing : nullptr;
  }

  /// The same, and made if there is none.
  T& here() const {
    const std::uint64_t process = os_.process_token();
    Each* newest = newest_.load();
    while (newest == nullptr || newest->process != process) {
      auto made = std::make_unique<Each>(os_, process, newest);
      if (newest_.compare_exchange_strong(newest, made.get())) {
        return made.release()->thing;
      }
    }
    return newest->thing;
  }

 private:
  struct Each {
    Each(Os& os, std::uint64_t its_process, Each* its_parents)
        : process(its_process), thing(os), parents(its_parents) {}

    std::uint64_t process;
    T thing;
    Each* parents;  ///< Of the parent process. Kept for checkers of leaks alone.
  };

  Os& os_;
  mutable std::atomic<Each*> newest_ = nullptr;
};

}  // namespace lastref::os
