// FakeWorld: a world that gets its runs from a function, for tests of the layers above worlds.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/scenario/world.hpp"

namespace lastref::harness {

class FakeWorld final : public World {
 public:
  using Run = std::function<Outcome(const Scenario&, const Plan&)>;

  explicit FakeWorld(Run run) : run_(std::move(run)) {}

  const char* name() const noexcept override { return "kernel"; }
  Outcome run(const Scenario& scenario, const Plan& plan) override {
    plans.push_back(plan);
    Outcome outcome = run_(scenario, plan);
    for (const Crossing& crossing : outcome.crossings) {
      outcome.reached.set(point_named(crossing.site.name));
    }
    return outcome;
  }

  std::vector<Plan> plans;  ///< The plans that it ran, in order.

 private:
  Run run_;
};

inline Scenario named(const std::string& name) {
  return {.name = name, .sentence = "It holds.", .rows = {"T1"}, .roles = {}};
}

inline Crossing crossing_of(const std::string& call, std::uint32_t k = 1) {
  return {.site = {.role = "root", .name = call, .object = "", .k = k}};
}

/// Reaches these points, all faults are injected, nothing is wrong.
inline Outcome clean_outcome(const Plan& plan, std::vector<Crossing> crossings) {
  Outcome outcome;
  outcome.crossings = std::move(crossings);
  outcome.faults_fired = static_cast<std::uint32_t>(plan.faults.size());
  return outcome;
}

}  // namespace lastref::harness
