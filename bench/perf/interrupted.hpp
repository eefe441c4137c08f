// interrupted: handles Ctrl-C and SIGTERM while this program waits for others, so that it leaves
// nothing.
#pragma once

#include <chrono>

namespace lastref::perf {

/// The time that a program has to clean up after the signal. Then its tree is killed.
inline constexpr std::chrono::seconds grace{5};

/// This program has to end. It is not a std::exception, so that no handler of failures catches it.
struct Interrupted {
  int signal = 0;
};

/// Throws Interrupted if there was a signal. Code that waits calls it often, after it has sent the
/// signal to the programs that it started.
void throw_if_interrupted();

/// Sends a signal to a process and to all its descendants.
void signal_tree(int process, int signal);

}  // namespace lastref::perf
