// stress: the scenarios in free-running processes, in parallel, with random kills.
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/cli/report_output.hpp"
#include "harness/cli/scenarios.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/explore/plans.hpp"
#include "harness/platform/names.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/stress/stress_campaign.hpp"

namespace lastref::harness {
namespace {

Violation violation_of(const StressViolation& found, bool noise) {
  return {
      .scenario = found.scenario,
      .claim = found.finding.claim,
      .seen = found.finding.seen,
      .repeats = false,
      .replay = fmt::format("lastref stress --scenario {} --runs 100 --seed {}{}{} --no-draw",
                            found.scenario,
                            found.seed,
                            noise ? " --noise" : "",
                            set_options(found.parameters)),
      .last_crossings = {},
      .killed = found.killed.empty() ? "none" : fmt::format("{}", fmt::join(found.killed, ", ")),
      .standard_error = found.standard_error};
}

}  // namespace

void run(const StressVerbOptions& options, Invocation& invocation) {
  if (!invocation.has_proc()) {
    return;
  }
  std::vector<const Scenario*> named;
  for (const Scenario& each : catalog()) {
    if (options.scenario.empty() ? each.in_gate : matches(options.scenario, each.name)) {
      named.push_back(&each);
    }
  }
  auto set = parse_set(named, options.set, invocation);
  if (!set) {
    return;
  }
  StressCampaign campaign({.scenarios = &catalog(),
                           .pattern = options.scenario,
                           .runs = options.runs,
                           .seed = options.seed,
                           .worlds = options.worlds,
                           .first = options.first,
                           .noise = options.noise,
                           .parameters = *std::move(set),
                           .draws_parameters = !options.no_draw});
  if (!campaign.missing().empty()) {
    invocation.refuse("runs without gates need namespaces of their own: " + campaign.missing());
    return;
  }
  if (campaign.scenarios().empty()) {
    invocation.refuse(fmt::format("no scenario matches {}", options.scenario));
    return;
  }
  const StressResults found = campaign.run(std::cerr);
  Report report{.verb = "stress",
                .exit = !found.violations.empty() ? Exit::violation
                        : found.runs == 0         ? Exit::incomplete
                                                  : Exit::clean};
  for (const StressViolation& violation : found.violations) {
    add(report, violation_of(violation, options.noise));
  }
  for (const auto& [scenario, why] : found.left_out) {
    report.after += fmt::format("left out: {}: {}\n", scenario, why);
  }
  for (const auto& [scenario, why] : found.without_kills) {
    report.after += fmt::format("no process killed: {}: {}\n", scenario, why);
  }
  report.verdict = fmt::format(
      "{} runs without gates of {} scenarios, {} of them with kills: {} processes killed; {}; {} "
      "scenarios left out; seed {}",
      found.runs,
      found.scenarios,
      found.runs_with_kills,
      found.killed,
      counted(found.violations.size(), "violation"),
      found.left_out.size(),
      options.seed);
  ReportOutput().write(report, std::cout, invocation);
}

}  // namespace lastref::harness
