// Counts: what an operation costs, in numbers that do not depend on the state of the machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lastref::perf {

/// The counts of all processes of one role during one operation.
struct Counts {
  std::map<std::string, std::uint64_t> calls;  ///< system calls, by name
  std::uint64_t crossings = 0;                 ///< calls through the Os seam, system calls or not
  std::uint64_t messages = 0;                  ///< received from sockets
  std::uint64_t bytes = 0;      ///< that calls moved from or to pipes, sockets and files
  std::uint64_t copies = 0;     ///< in memory, of a page or more
  std::uint64_t copied = 0;     ///< bytes, by these
  std::uint64_t wake_ups = 0;   ///< calls in which a thread slept until it was woken
  std::uint64_t processes = 0;  ///< started
  std::uint64_t threads = 0;    ///< started
  std::uint64_t faults = 0;     ///< touched pages that were not mapped; of files or anonymous

  bool operator==(const Counts&) const = default;
};

/// "caller", "tracker", "worker", "receiver", or "starter". A starter is a process that has not
/// executed a program yet, or the short-lived helper that starts such a process.
using CountsByRole = std::map<std::string, Counts>;

}  // namespace lastref::perf
