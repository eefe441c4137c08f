#include "harness/explore/deviations.hpp"

#include <map>
#include <utility>

#include "harness/choice/choices.hpp"

namespace lastref::harness {

std::vector<Deviation> deviations_of(const Outcome& clean, std::uint64_t chance) {
  std::vector<Deviation> all;
  for (std::size_t question = 0; question < clean.options.size(); ++question) {
    for (std::uint32_t answer = 1; answer < clean.options[question]; ++answer) {
      all.push_back({.question = question, .answer = answer});
    }
  }
  std::map<std::uint32_t, std::uint32_t> steps;
  for (const ActorSteps& each : *clean.estimate) {
    steps[each.actor] += each.steps;
  }
  for (const auto& [actor, count] : steps) {
    for (std::uint32_t step = 0; step < count && steps.size() > 1; ++step) {
      all.push_back({.pause = {{.kind = Switch::Kind::pause, .from = actor, .step = step}}});
    }
  }
  for (std::size_t left = all.size(); left > 1; --left) {
    std::swap(all[left - 1], all[next_random(chance) % left]);
  }
  return all;
}

void apply(const Deviation& deviation, Plan& plan) {
  plan.switches = deviation.pause;
  if (deviation.pause.empty()) {
    plan.choices.assign(deviation.question + 1, 0);
    plan.choices.back() = deviation.answer;
  }
}

}  // namespace lastref::harness
