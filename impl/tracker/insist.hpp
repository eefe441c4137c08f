// insist: repeats an operation that had no memory.
#pragma once

#include <chrono>
#include <type_traits>

#include "impl/os/limits.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::tracker {

inline constexpr std::chrono::milliseconds pause_without_memory{50};

/// The result of `body` as soon as it has all memory that it needs. It may be called again after it
/// had none.
///
/// Errors          not_enough_memory, when there is none for a long time.
template <typename Body>
auto insist(os::Os& os, Body body) noexcept -> std::invoke_result_t<Body> {
  for (int pauses = 0;; ++pauses) {
    auto done = os::within_memory("the tracker", body);
    if (done || !os::is_no_memory(done.error()) || pauses == os::limits_of(os).memory_pauses) {
      return done;
    }
    static_cast<void>(os.poll({}, pause_without_memory));
  }
}

}  // namespace lastref::tracker
