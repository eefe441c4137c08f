// insist: repeats an operation that had no memory.
#pragma once

#include <chrono>
#include <type_traits>

#include "impl/os/within_memory.hpp"

namespace lastref::tracker {

inline constexpr std::chrono::milliseconds pause_without_memory{50};
/// Pauses in a row before a tracker exits: in less time than after which the root assumes that the
/// next tracker will die of another cause.
inline constexpr int pauses_without_memory_max = 18;

/// The result of `body` as soon as it has all memory that it needs. It may be called again after it
/// had none.
///
/// Errors          not_enough_memory, when there is none for a long time.
template <typename Body>
auto insist(os::Os& os, Body body) noexcept -> std::invoke_result_t<Body> {
  for (int pauses = 0;; ++pauses) {
    auto done = os::within_memory("the tracker", body);
    if (done || !os::is_no_memory(done.error()) || pauses == pauses_without_memory_max) {
      return done;
    }
    static_cast<void>(os.poll({}, pause_without_memory));
  }
}

}  // namespace lastref::tracker
