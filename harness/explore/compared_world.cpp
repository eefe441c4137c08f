#include "harness/explore/compared_world.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lastref::harness {

CleanResults::OfScenario& CleanResults::of(const std::string& scenario) {
  const std::lock_guard held(mutex_);
  return scenarios_[scenario];
}

bool CleanResults::learn(World& world, const Scenario& scenario, OfScenario& mine) {
  if (mine.next == mine.plans.size() && !std::exchange(mine.has_pauses, true)) {
    Plan clean;
    clean.wants_crossings = true;
    ++runs_;
    std::ranges::move(more_plans_to_compare(world.run(scenario, clean).crossings),
                      std::back_inserter(mine.plans));
  }
  if (mine.next == mine.plans.size()) {
    return false;
  }
  ++runs_;
  const Outcome outcome = world.run(scenario, mine.plans[mine.next++]);
  if (outcome.results) {
    mine.possible.add(*outcome.results);
  }
  return true;
}

Judgement CleanResults::compare(World& world, const Scenario& scenario, const RunResults& results) {
  OfScenario& mine = of(scenario.name);
  const std::lock_guard held(mine.mutex);
  if (mine.next == 0) {
    learn(world, scenario, mine);
  }
  Judgement judgement = oracle::compare(results, mine.possible);
  while (!judgement.findings.empty() && learn(world, scenario, mine)) {
    judgement = oracle::compare(results, mine.possible);
  }
  return judgement;
}

Outcome ComparedWorld::run(const Scenario& scenario, const Plan& plan) {
  Outcome outcome = world_.run(scenario, plan);
  if (outcome.results && !plan.wants_results) {
    Judgement judgement = clean_.compare(world_, scenario, *outcome.results);
    outcome.looks[index_of_oracle("same")] = judgement.look;
    std::ranges::move(judgement.findings, std::back_inserter(outcome.findings));
  }
  return outcome;
}

ComparedWorlds::ComparedWorlds(std::span<World* const> worlds) {
  for (World* const world : worlds) {
    owned_.push_back(std::make_unique<ComparedWorld>(*world, clean_));
    all_.push_back(owned_.back().get());
  }
}

}  // namespace lastref::harness
