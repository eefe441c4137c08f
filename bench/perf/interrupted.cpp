#include "bench/perf/interrupted.hpp"

#include <signal.h>

#include "harness/cli/interruption.hpp"
#include "harness/platform/proc.hpp"

namespace lastref::perf {

void throw_if_interrupted() {
  if (const int signal = harness::Interruption::signal(); signal != 0) {
    throw Interrupted{signal};
  }
}

void signal_tree(int process, int signal) {
  // A process that has lost its parent meanwhile is not found.
  for (const int child : harness::children_of(process)) {
    signal_tree(child, signal);
  }
  ::kill(process, signal);
}

}  // namespace lastref::perf
