#include "harness/platform/clock.hpp"

#include <chrono>

namespace lastref::harness {

double seconds_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

}  // namespace lastref::harness
