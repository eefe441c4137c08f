#include "bench/perf/priority.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>

namespace lastref::perf {

bool be_first_in_line() {
  constexpr int first = -20;
  return ::setpriority(PRIO_PROCESS, 0, first) == 0;
}

std::uint64_t new_seed() {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return (static_cast<std::uint64_t>(now) / 1000 + static_cast<std::uint64_t>(::getpid()) * 7919) %
         1'000'000;
}

}  // namespace lastref::perf
