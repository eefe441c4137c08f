// interrupted: Ctrl-C and SIGTERM, for what waits for other programs: nothing of ours is left
// behind.
#pragma once

#include <chrono>

namespace lastref::perf {

/// A program that was sent the signal has this long to clean up. Then its tree is killed.
inline constexpr std::chrono::seconds grace{5};

/// Somebody wants us to end. No std::exception: nobody who handles what failed handles this.
struct Interrupted {
  int signal = 0;
};

/// Throws Interrupted if there was a signal. Whoever waits asks often, after the programs that it
/// has started were sent that signal.
void throw_if_interrupted();

/// Sends it to a process and to all that descend from it.
void signal_tree(int process, int signal);

}  // namespace lastref::perf
