#include "harness/explore/compared_world.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lastref::harness {

CleanResults::OfScenario& CleanResults::of(const std::string& scenario,
                                           const ParameterValues& parameters) {
  const std::lock_guard held(mutex_);
  const auto [at, is_new] = scenarios_.try_emplace({scenario, parameters});
  if (is_new) {
    at->second.parameters = parameters;
  }
  return at->second;
}

bool CleanResults::learn(World& world, const Scenario& scenario, OfScenario& mine) {
  if (mine.next == mine.plans.size() && !std::exchange(mine.has_pauses, true)) {
    Plan clean;
    clean.wants_crossings = true;
    clean.parameters = mine.parameters;
    ++runs_;
    std::ranges::move(more_plans_to_compare(world.run(scenario, clean).crossings),
                      std::back_inserter(mine.plans));
  }
  if (mine.next == mine.plans.size()) {
    return false;
  }
  ++runs_;
  Plan& plan = mine.plans[mine.next++];
  plan.parameters = mine.parameters;
  const Outcome outcome = world.run(scenario, plan);
  if (outcome.results) {
    mine.possible.add(*outcome.results);
  }
  return true;
}

Judgement CleanResults::compare(World& world,
                                const Scenario& scenario,
                                const ParameterValues& parameters,
                                const RunResults& results) {
  OfScenario& mine = of(scenario.name, parameters);
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
    Judgement judgement = clean_.compare(world_, scenario, plan.parameters, *outcome.results);
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
