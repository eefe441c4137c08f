// sim_bench: runs of scenarios in the simulated kernel, each with an unusual schedule or a fault.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "harness/explore/site_matrix.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/sim/sim_world.hpp"

namespace lastref::harness {
namespace {

constexpr const char* families[] = {"tracker/", "caches/", "jobs/"};
/// Of each scenario, evenly spread over its clean run. With so many, as in a gate, a prefix is used
/// often.
constexpr std::size_t plans_of_each = 60;

struct Planned {
  const Scenario* scenario = nullptr;
  Plan plan = {};
};

/// Half of them have an unusual answer to one question, half a fault. One plan of each scenario
/// after the other: neighbours have different scenarios, as in a hunt.
std::vector<Planned> plans_of(const std::string& family) {
  SimWorld world({.late_words = true, .arena = true});
  std::vector<std::pair<const Scenario*, Outcome>> clean;
  for (const Scenario& scenario : catalog()) {
    if (scenario.name.starts_with(family) && scenario.in_matrix() && !scenario.kernel_only) {
      Plan plan;
      plan.wants_crossings = true;
      clean.emplace_back(&scenario, world.run(scenario, plan));
    }
  }
  std::vector<Planned> plans;
  for (std::size_t each = 0; each < plans_of_each; ++each) {
    for (const auto& [scenario, outcome] : clean) {
      Planned& made = plans.emplace_back(Planned{.scenario = scenario});
      // A step that shares no factor with their number visits all in a mixed order.
      const std::size_t place = each * 7 % plans_of_each;
      if (each % 2 == 0) {
        made.plan.choices.assign(place * outcome.options.size() / plans_of_each + 1, 0);
        made.plan.choices.back() = 1;
      } else {
        const std::vector<Fault> faults = scenario_matrix_of(outcome.crossings).faults;
        made.plan.faults = {faults[place * faults.size() / plans_of_each]};
      }
    }
  }
  return plans;
}

/// Grows with the calls of a run. The second argument is whether runs share prefixes.
void simulated_runs(benchmark::State& state) {
  const std::vector<Planned> plans = plans_of(families[state.range(0)]);
  SimWorld world({.late_words = true, .arena = true, .shares_prefixes = state.range(1) != 0});
  std::size_t next = 0;
  for ([[maybe_unused]] auto iteration : state) {
    const Planned& planned = plans[next++ % plans.size()];
    const Outcome outcome = world.run(*planned.scenario, planned.plan);
    if (!outcome.findings.empty()) {
      state.SkipWithError(outcome.findings.front().claim.c_str());
      return;
    }
  }
  state.SetLabel(families[state.range(0)]);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(simulated_runs)
    ->ArgsProduct({{0, 1, 2}, {0, 1}})
    ->ArgNames({"family", "prefixes"})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lastref::harness
