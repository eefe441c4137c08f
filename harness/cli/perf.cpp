// perf: compares and records speed; a separate program in the same folder.
#include "harness/cli/sibling.hpp"
#include "harness/cli/verbs.hpp"

namespace lastref::harness {

void run(const PerfOptions& options, Invocation& invocation) {
  run_sibling("perf", "lastref_perf", options.words, invocation);
}

}  // namespace lastref::harness
