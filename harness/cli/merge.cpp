// merge: one report on the shards of a gate, or of a sweep.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <utility>
#include <vector>

#include "harness/cli/gate_folder.hpp"
#include "harness/cli/report_output.hpp"
#include "harness/cli/sweep_merge.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/explore/gate_merge.hpp"

namespace lastref::harness {
namespace {

Result<Report> merge_gates(const std::vector<std::string>& folders) {
  std::vector<NamedPart> parts;
  for (const std::string& folder : folders) {
    LASTREF_TRY(part, read_gate(folder));
    parts.push_back({.name = folder, .part = std::move(part)});
  }
  LASTREF_TRY(results, merge_parts(std::move(parts)));
  Report report = report_of(results);
  report.verb = "merge";
  return report;
}

}  // namespace

void run(const MergeOptions& options, Invocation& invocation) {
  ReportOutput output(options.files);
  if (!output.open(invocation)) {
    return;
  }
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  const auto report = std::ranges::any_of(options.folders, has_gate)
                          ? merge_gates(options.folders)
                          : merge_sweeps(options.folders, today);
  if (report) {
    output.write(*report, output.takes_standard_output() ? std::cerr : std::cout, invocation);
  } else {
    invocation.refuse("merge: " + report.error().subject);
  }
}

}  // namespace lastref::harness
