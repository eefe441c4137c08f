// Counts from outside the calls of a program that marks its operations, and of its descendants.
//
// The process tree is traced (ptrace(2)). One thread runs at a time, from one sleep to the next;
// then it waits for its turn, in the order in which threads were started. So the number of calls
// does not depend on the number of processors, on their speed or on other load. It is the number
// on a machine with one processor that lets each thread run until it sleeps. Time passes as usual:
// calls that depend on the clock may differ.
#pragma once

#include <string>
#include <vector>

#include "bench/perf/counts.hpp"

namespace lastref::perf {

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
