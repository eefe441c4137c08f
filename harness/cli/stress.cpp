// stress: the scenarios in free-running processes, in parallel, with random kills.
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/cli/scenarios.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/explore/plans.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/stress/stress_campaign.hpp"

namespace lastref::harness {
namespace {

void print(const StressViolation& violation) {
  const std::string killed =
      violation.killed.empty() ? "none" : fmt::format("{}", fmt::join(violation.killed, ", "));
  std::cout
      << fmt::format("VIOLATION {}\n", violation.scenario)
      << fmt::format("  claim         {}\n", violation.finding.claim)
      << fmt::format("  observed      {}\n", violation.finding.seen)
      << fmt::format("  killed        {}\n", killed)
      << fmt::format(
             "  try again     lastref stress --scenario {} --runs 100 --seed {}{} --no-draw\n",
             violation.scenario,
             violation.seed,
             set_options(violation.parameters));
  if (!violation.standard_error.empty()) {
    std::cout << "standard error of the run:\n" << violation.standard_error << '\n';
  }
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
  const StressReport report = campaign.run(std::cerr);
  for (const StressViolation& violation : report.violations) {
    print(violation);
  }
  for (const auto& [scenario, why] : report.left_out) {
    std::cout << fmt::format("left out: {}: {}\n", scenario, why);
  }
  for (const auto& [scenario, why] : report.without_kills) {
    std::cout << fmt::format("no process killed: {}: {}\n", scenario, why);
  }
  std::cout << fmt::format(
      "{} runs without gates of {} scenarios, {} of them with kills: {} processes killed; {} "
      "violations; {} scenarios left out; seed {}\n",
      report.runs,
      report.scenarios,
      report.runs_with_kills,
      report.killed,
      report.violations.size(),
      report.left_out.size(),
      options.seed);
  invocation.end(!report.violations.empty() ? Exit::violation
                 : report.runs == 0         ? Exit::incomplete
                                            : Exit::clean);
}

}  // namespace lastref::harness
