// explore: every order of one scenario in the simulated kernel, within a bound of preemptions.
#include <iostream>
#include <utility>

#include <fmt/format.h>

#include "harness/cli/report_output.hpp"
#include "harness/cli/scenarios.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/explore/exhaustive.hpp"
#include "harness/explore/plans.hpp"
#include "harness/explore/timeline.hpp"
#include "harness/platform/clock.hpp"
#include "harness/report/report.hpp"
#include "harness/sim/sim_world.hpp"

namespace lastref::harness {
namespace {

Exit exit_of(const Exhausted& found) {
  return found.violations > 0   ? Exit::violation
         : !found.deterministic ? Exit::not_deterministic
         : !found.complete      ? Exit::incomplete
                                : Exit::clean;
}

Report report_of(const Scenario& scenario,
                 const ExhaustiveOptions& bounds,
                 const Exhausted& found) {
  Report report{.verb = "explore", .exit = exit_of(found)};
  for (const Counterexample& example : found.counterexamples) {
    Plan plan;
    plan.faults = bounds.faults;
    plan.choices = example.choices;
    plan.parameters = bounds.parameters;
    plan.wants_log = true;
    const Outcome again = SimWorld({.split_deaths = bounds.split_deaths}).run(scenario, plan);
    const Timeline timeline = timeline_of(*again.log, again.findings);
    for (const Finding& finding : example.findings) {
      Violation violation{.scenario = scenario.name,
                          .claim = finding.claim,
                          .seen = finding.seen,
                          .repeats = true,
                          .replay = replay_command(scenario.name, plan, "sim"),
                          .last_crossings = {}};
      explain(violation, timeline);
      add(report, std::move(violation));
    }
  }
  report.verdict = fmt::format(
      "{}{} orders with at most {} preemptions{}, {} steps, at most {} questions a run; {} with "
      "findings{}",
      bounds.parameters.empty() ? "" : to_text(bounds.parameters) + ": ",
      found.schedules,
      bounds.preemptions,
      found.complete ? ", all there are" : "; there are more",
      found.steps,
      found.longest,
      found.violations,
      found.deterministic ? "" : "; NOT DETERMINISTIC");
  return report;
}

}  // namespace

void run(const ExploreOptions& options, Invocation& invocation) {
  const Scenario* scenario = find_scenario(options.name, invocation);
  if (scenario == nullptr) {
    return;
  }
  if (scenario->kernel_only) {
    invocation.refuse(scenario->name + " needs the kernel world");
    return;
  }
  ExhaustiveOptions bounds;
  bounds.preemptions = options.preemptions;
  bounds.ask_after = options.ask_after;
  bounds.runs_max = options.runs;
  bounds.stop_at_first = !options.all;
  bounds.split_deaths = options.split_deaths;
  auto faults = parse_faults(options.faults, invocation);
  if (!faults) {
    return;
  }
  bounds.faults = *std::move(faults);
  const auto set = parse_set(*scenario, options.set, invocation);
  if (!set) {
    return;
  }
  bounds.parameters = options.draw ? draw_parameters(scenario->parameters, *set, *options.draw)
                                   : unusual(scenario->parameters, *set);
  const double end = options.budget > 0 ? seconds_now() + options.budget : 0;
  const Exhausted found =
      exhaust(*scenario, bounds, [end](const Outcome&) { return end == 0 || seconds_now() < end; });
  ReportOutput().write(report_of(*scenario, bounds, found), std::cout, invocation);
}

}  // namespace lastref::harness
