// hunt: searches schedules of the scenarios in the simulated kernel until it is stopped.
#include "harness/explore/hunt.hpp"

#include <algorithm>
#include <iostream>
#include <string_view>

#include <fmt/format.h>

#include "harness/cli/interruption.hpp"
#include "harness/cli/names.hpp"
#include "harness/cli/report_output.hpp"
#include "harness/cli/scenarios.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/report/text.hpp"
#include "harness/scenario/pattern.hpp"

namespace lastref::harness {
namespace {

/// Those that the pattern matches and that the simulated kernel can run. One that is not in the
/// gate, or takes no faults, has to be named exactly.
std::vector<const Scenario*> select(const std::string& pattern) {
  std::vector<const Scenario*> selected;
  for (const Scenario& each : catalog()) {
    const bool is_named = (pattern.empty() || matches(pattern, each.name)) &&
                          ((each.in_gate && each.in_matrix()) || pattern == each.name);
    if (is_named && !each.kernel_only) {
      selected.push_back(&each);
    }
  }
  return selected;
}

}  // namespace

void run(const HuntVerbOptions& options, Invocation& invocation) {
  ReportOutput output(options.json);
  if (!output.open(invocation)) {
    return;
  }
  HuntOptions hunted;
  hunted.scenarios = select(options.scenario);
  if (hunted.scenarios.empty()) {
    invocation.refuse(fmt::format("no scenario of the simulated kernel matches {}{}",
                                  options.scenario,
                                  suggestion(options.scenario, scenario_names())));
    return;
  }
  if (!options.set.empty()) {
    const auto set = parse_set(hunted.scenarios, options.set, invocation);
    if (!set) {
      return;
    }
    hunted.parameters = *set;
  }
  for (const std::string& name : options.policies) {
    hunted.policies.push_back(policy_named(name).value());  // The command line has no others.
  }
  hunted.draws_parameters = !options.no_draw;
  hunted.has_faults = !options.no_faults;
  hunted.seed = options.seed;
  hunted.budget = options.budget;
  hunted.runs_max = options.runs;
  hunted.stop_at_first = options.first;
  hunted.is_interrupted = Interruption::happened;
  ProgressLine line(is_terminal(), [](std::string_view text) { std::cerr << text << std::flush; });
  hunted.progress = [&line](const CampaignProgress& progress) { line.show(progress); };
  const Interruption interruption;
  const HuntResults results = hunt(invocation.worlds.all(), hunted);
  line.end();
  output.write(
      report_of(results), output.takes_standard_output() ? std::cerr : std::cout, invocation);
}

}  // namespace lastref::harness
