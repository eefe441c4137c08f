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
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/platform/named_enum.hpp"

namespace lastref::perf {

/// The columns of the table. They do not depend on the state of the machine.
LASTREF_NAMED_ENUM(Column,
                   (crossings, "Crossings"),  ///< calls through the Os seam, system calls or not
                   (messages, "Messages"),    ///< received from sockets
                   (bytes, "Bytes moved"),    ///< from or to pipes, sockets and files
                   (copies, "Copies"),        ///< in memory, of a page or more
                   (copied, "Bytes copied"),  ///< by these
                   (wake_ups, "Wake-ups"),    ///< calls in which a thread slept until it was woken
                   (processes, "Processes"),  ///< started
                   (threads, "Threads"),      ///< started
                   (pages, "Pages"));  ///< touched that were not mapped; of files or anonymous

/// What all processes of one role do during one operation, by counter: the name of a column, or of
/// a system call. No value is 0.
using Figures = std::map<std::string, std::uint64_t, std::less<>>;

/// "caller", "tracker", "worker", "receiver", or "starter". A starter is a process that has not
/// executed a program yet, or the short-lived helper that starts such a process.
using FiguresByRole = std::map<std::string, Figures>;

struct CountedProgram {
  std::vector<std::string> command;      ///< the program's path first
  std::vector<std::string> environment;  ///< NAME=value; the complete environment
  /// Whether the kernel may report the exit status of a process that is not a child of the caller.
  /// If false, all kernels behave alike: those before Linux 6.15 do not report it.
  bool tells_ends = false;
};

/// The figures of each marked operation, in their order. A role that did nothing is left out.
///
/// Throws          std::runtime_error: the program cannot be started or traced here, a thread
///                 neither called nor slept for too long, or the exit code was not 0.
std::vector<FiguresByRole> count_calls(const CountedProgram& program);

}  // namespace lastref::perf
