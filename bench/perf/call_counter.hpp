// call_counter: counts from outside the calls of a program that marks its operations, and of its
// descendants.
//
// The process tree is traced (ptrace(2)). One thread runs at a time, from one sleep to the next;
// then it waits for its turn, in the order in which threads were started. So the number of calls
// does not depend on the number of processors, on their speed or on other load. It is the number
// on a machine with one processor that lets each thread run until it sleeps. Time passes as usual:
// calls that depend on the clock may differ.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lastref::perf {

/// What an operation costs, in numbers that do not depend on the state of the machine: the counts
/// of all processes of one role during one operation.
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

struct CountedProgram {
  std::vector<std::string> command;      ///< the program's path first
  std::vector<std::string> environment;  ///< NAME=value; the complete environment
  /// Whether the kernel may report the exit status of a process that is not a child of the caller.
  /// If false, all kernels behave alike: those before Linux 6.15 do not report it.
  bool tells_ends = false;
};

/// The counts of each marked operation, in their order. A role that did nothing is left out.
///
/// Throws          std::runtime_error: the program cannot be started or traced here, a thread
///                 neither called nor slept for too long, or the exit code was not 0.
std::vector<CountsByRole> count_calls(const CountedProgram& program);

}  // namespace lastref::perf
