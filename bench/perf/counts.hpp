// Counts: what an operation asks of the machine, in numbers that do not depend on its mood.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lastref::perf {

/// Of the processes of one role, during one operation.
struct Counts {
  std::map<std::string, std::uint64_t> calls;  ///< system calls, by name
  std::uint64_t crossings = 0;                 ///< of the seam: calls of Os, system calls or not
  std::uint64_t messages = 0;                  ///< received from sockets
  std::uint64_t bytes = 0;      ///< that calls moved from or to pipes, sockets and files
  std::uint64_t copies = 0;     ///< in memory, of a page or more
  std::uint64_t copied = 0;     ///< bytes, by these
  std::uint64_t wake_ups = 0;   ///< calls in which a thread slept until somebody woke it
  std::uint64_t processes = 0;  ///< started
  std::uint64_t threads = 0;    ///< started
  std::uint64_t faults = 0;     ///< pages touched that were not there; of files or of nobody

  bool operator==(const Counts&) const = default;
};

/// "caller", "tracker", "worker", "receiver"; "starter" is what a process is before it has become
/// one of those, and what starts it and is gone at once.
using CountsByRole = std::map<std::string, Counts>;

}  // namespace lastref::perf
