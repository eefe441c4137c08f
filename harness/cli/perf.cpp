// perf: compares and records speed; a separate program in the same folder.
#include "harness/cli/beside.hpp"
#include "harness/cli/verbs.hpp"

namespace lastref::harness {

void run(const PerfOptions& options, Invocation& invocation) {
  run_beside("perf", "lastref_perf", options.words, invocation);
}

}  // namespace lastref::harness
