// merge: one report on the shards of a sweep.
#include <chrono>
#include <iostream>

#include "harness/cli/report_output.hpp"
#include "harness/cli/sweep_merge.hpp"
#include "harness/cli/verbs.hpp"

namespace lastref::harness {

void run(const MergeOptions& options, Invocation& invocation) {
  ReportOutput output(options.files);
  if (!output.open(invocation)) {
    return;
  }
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  const auto report = merge_sweeps(options.folders, today);
  if (report) {
    output.write(*report, output.takes_standard_output() ? std::cerr : std::cout, invocation);
  } else {
    invocation.refuse("merge: " + report.error().subject);
  }
}

}  // namespace lastref::harness
