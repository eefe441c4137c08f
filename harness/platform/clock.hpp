// clock: the time that this process measures, as opposed to that of a run.
#pragma once

#include <chrono>

namespace lastref::harness {

/// Seconds since some moment. The clock is steady.
inline double seconds_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

}  // namespace lastref::harness
