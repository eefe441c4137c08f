// Counts the calls of a program that marks its operations, and of all that it starts, from outside.
//
// The tree is traced (ptrace(2)), and one thread of it runs at a time, from one sleep to the next:
// then it waits for its turn, in the order in which threads were started. So how many calls are
// made does not depend on how many processors there are, how fast they are, or what else they do;
// it is what a machine with one processor does that lets everybody finish. Time passes as ever:
// what is done because of the clock may differ.
#pragma once

#include <string>
#include <vector>

#include "bench/perf/counts.hpp"

namespace lastref::perf {

struct CountedProgram {
  std::vector<std::string> command;      ///< the program's path first
  std::vector<std::string> environment;  ///< NAME=value; nothing else is in it
  /// Whether the kernel may tell how a process ended that is nobody's child. If not, all kernels
  /// are alike: those before Linux 6.15 do not.
  bool tells_ends = false;
};

/// Of each operation that was marked, in their order. A role that did nothing is not there.
///
/// Throws          std::runtime_error: the program cannot be started or traced here, a thread did
///                 not come to rest, or it did not end with 0.
std::vector<CountsByRole> count_calls(const CountedProgram& program);

}  // namespace lastref::perf
