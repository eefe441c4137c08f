#include "harness/explore/second_level.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "harness/explore/matrix.hpp"
#include "harness/platform/hash.hpp"

namespace lastref::harness {

std::span<const Pair> pairs_of(std::span<const Pair> sorted, std::size_t scenario) {
  const auto found = std::ranges::equal_range(sorted, scenario, {}, &Pair::scenario);
  return {found.begin(), found.end()};
}

std::vector<PlannedRun> planned_runs(std::span<const Pair> pairs,
                                     std::span<const Scenario* const> scenarios,
                                     std::span<const KnownPlan> known) {
  std::vector<PlannedRun> all;
  for (const KnownPlan& plan : known) {
    const auto found = std::ranges::find(scenarios, plan.scenario, &Scenario::name);
    if (found == scenarios.end()) {
      continue;
    }
    PlannedRun made = {.scenario = static_cast<std::size_t>(found - scenarios.begin()),
                       .all_strike = false,
                       .seed = plan.seed};
    for (const std::string& text : plan.faults) {
      made.faults.push_back(parse_fault(text).value());
    }
    all.push_back(std::move(made));
  }
  for (const Pair& pair : pairs) {
    all.push_back({.scenario = pair.scenario, .faults = {pair.first, pair.second}});
  }
  return all;
}

std::string text_of(std::span<const Fault> faults) {
  std::string text;
  for (const Fault& fault : faults) {
    text += (text.empty() ? "" : ", then ") + to_text(fault);
  }
  return text;
}

SecondLevel::SecondLevel(std::span<const ScenarioMatrix> first_level, std::uint64_t seed)
    : seed_(seed) {
  for (const ScenarioMatrix& matrix : first_level) {
    for (const auto& [site, callers] : matrix.callers) {
      clean_.insert(moment_of(site, callers));
    }
  }
}

std::vector<Crossing> SecondLevel::add(std::size_t scenario,
                                       const Fault& first,
                                       std::span<const Crossing> after) {
  std::vector<Crossing> drawn;
  for (const Crossing& crossing : after) {
    const Moment moment = moment_of(crossing.site, crossing.callers);
    if (crossing.callers == 0 || clean_.contains(moment)) {
      continue;
    }
    const std::uint64_t draw = hash_of(
        fmt::format("{} {} {} {}", seed_, scenario, to_text(first), to_text(crossing.site)));
    Drawn& mine = drawn_[moment];
    if (draw < mine.draw) {
      mine = {.draw = draw, .scenario = scenario, .first = first, .crossing = crossing};
      drawn.push_back(crossing);
    }
  }
  return drawn;
}

std::vector<Pair> SecondLevel::pairs() const {
  std::vector<Pair> pairs;
  for (const auto& [moment, drawn] : drawn_) {
    for (const Fault& second : matrix_of(std::span(&drawn.crossing, 1))) {
      pairs.push_back({.scenario = drawn.scenario, .first = drawn.first, .second = second});
    }
  }
  std::ranges::sort(pairs);
  return pairs;
}

}  // namespace lastref::harness
