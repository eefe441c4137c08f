#include "harness/explore/exhaustive.hpp"

#include <algorithm>

#include "harness/sim/sim_world.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t counterexamples_max = 8;

}  // namespace

Exhausted exhaust(const Scenario& scenario,
                  const ExhaustiveOptions& options,
                  const std::function<bool(const Outcome&)>& seen) {
  SimWorld world({.split_deaths = options.split_deaths,
                  .arena = options.arena,
                  .ask_after = options.ask_after});
  ExhaustiveChoices choices({.preemptions = options.preemptions,
                             .deviations = options.deviations,
                             .prefix = options.prefix});
  Plan plan;
  plan.faults = options.faults;
  plan.parameters = options.parameters;
  Exhausted sum;
  for (bool left = true; left && sum.schedules < options.runs_max;) {
    Outcome outcome = world.run(scenario, plan, choices);
    ++sum.schedules;
    sum.steps += world.steps();
    sum.longest = std::max<std::uint64_t>(sum.longest, outcome.choices.size());
    const bool bad = !outcome.findings.empty();
    sum.violations += bad ? 1 : 0;
    const bool wanted = !seen || seen(outcome);
    if (bad && sum.counterexamples.size() < counterexamples_max) {
      sum.counterexamples.push_back({std::move(outcome.choices), std::move(outcome.findings)});
    }
    left = choices.advance();
    sum.complete = !left;
    if (!wanted || (bad && options.stop_at_first)) {
      break;
    }
  }
  sum.deterministic = choices.deterministic();
  return sum;
}

}  // namespace lastref::harness
