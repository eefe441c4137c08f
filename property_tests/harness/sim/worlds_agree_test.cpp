// The two worlds: the same plan reaches the same points with the same results in the simulated
// kernel and in the real one. So a counterexample of the one is a plan for the other.
#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "harness/explore/jobs.hpp"
#include "harness/explore/matrix.hpp"
#include "harness/explore/plans.hpp"
#include "harness/kernel/kernel_world.hpp"
#include "harness/sim/sim_world.hpp"

namespace lastref::harness {
namespace {

// The optimised build compares the worlds. That which counts lines compares two simulated worlds:
// there, a copy of a process costs as much as a whole simulated run.
#if defined(LASTREF_COVERAGE)
using Other = SimWorld;
constexpr std::size_t one_in = 31;
constexpr std::size_t tried_max = 10;
constexpr std::uint64_t orders_tried = 2;
constexpr std::size_t aftermaths_tried = 2;
#else
using Other = KernelWorld;
constexpr std::size_t one_in = 7;
/// At most this many faults of a scenario: larger scenarios repeat what smaller ones have shown.
constexpr std::size_t tried_max = 40;
constexpr std::uint64_t orders_tried = 3;
constexpr std::size_t aftermaths_tried = 10;
#endif

/// The names of the scenarios that both worlds can run, except those that are about size.
std::vector<std::string> common() {
  std::vector<std::string> chosen;
  for (const Scenario& each : catalog()) {
    if (!each.kernel_only && each.in_matrix()) {
      chosen.push_back(each.name);
    }
  }
  return chosen;
}

std::string name_of_test(const testing::TestParamInfo<std::string>& each) {
  std::string name = each.param;
  std::ranges::replace(name, '/', '_');
  return name;
}

template <class World>
World make() {
  if constexpr (std::is_same_v<World, KernelWorld>) {
    return World({.scenarios = &catalog()});
  } else {
    return World({.arena = true});
  }
}

template <class World>
std::string degraded(const World& world) {
  if constexpr (requires { world.degraded(); }) {
    return world.degraded();
  } else {
    return {};
  }
}

class Worlds : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!degraded(other_).empty()) {
      GTEST_SKIP() << "needs namespaces, else pids and folders differ: " << degraded(other_);
    }
  }

  void compare(const Plan& plan, const std::string& what) {
    const Outcome sim = sim_.run(scenario_, plan);
    const Outcome other = other_.run(scenario_, plan);
    EXPECT_EQ(difference_of(sim, other), "")
        << "first the simulated, then the " << other_.name() << ": " << what;
  }

  const Scenario& scenario_ = *scenario_named(GetParam());
  // First, so that it forks while this program is small.
  Other other_ = make<Other>();
  SimWorld sim_ = make<SimWorld>();
};
INSTANTIATE_TEST_SUITE_P(On, Worlds, testing::ValuesIn(common()), name_of_test);

TEST_P(Worlds, agree_on_clean_runs) {
  compare({.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true}, "clean");
}

TEST_P(Worlds, agree_on_random_orders) {
  for (std::uint64_t seed = 1; seed <= orders_tried; ++seed) {
    compare({.faults = {}, .choices = {}, .seed = seed, .wants_crossings = true},
            "seed " + std::to_string(seed));
  }
}

/// Each world for itself: policies also depend on steps without an alternative, which the worlds
/// need not have in common. Policies take turns, so that each one runs in a third of the scenarios.
TEST_P(Worlds, repeat_the_runs_of_policies) {
  const Plan clean{.faults = {}, .choices = {}, .seed = {}, .wants_estimate = true};
  const auto estimate = other_.run(scenario_, clean).estimate;
  ASSERT_TRUE(estimate);
  EXPECT_FALSE(estimate->empty());
  const auto scenarios = common();
  const auto number = std::ranges::find(scenarios, GetParam()) - scenarios.begin();
  constexpr std::size_t turns = 3;
  for (std::size_t at = static_cast<std::size_t>(number) % turns;
       at < names_of(PolicyName()).size();
       at += turns) {
    Plan plan{.faults = {}, .choices = {}, .seed = at, .wants_crossings = true};
    plan.policy = static_cast<PolicyName>(at);
    plan.estimate = estimate;
    const Outcome first = other_.run(scenario_, plan);
    EXPECT_EQ(difference_of(first, other_.run(scenario_, plan)), "") << name_of(plan.policy);
    if (first.switches.empty()) {
      continue;  // As a list it is the usual order, of which the oracles ask more.
    }
    Plan switched{.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true};
    switched.switches = first.switches;
    EXPECT_EQ(difference_of(first, other_.run(scenario_, switched)), "") << name_of(plan.policy);
    Plan listed = switched;
    listed.switches.clear();
    listed.choices = first.choices;
    EXPECT_EQ(difference_of(first, other_.run(scenario_, listed)), "") << name_of(plan.policy);
  }
}

TEST_P(Worlds, agree_on_faults) {
  const Plan clean{.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true};
  const std::vector<Fault> matrix = matrix_of(sim_.run(scenario_, clean).crossings);
  const std::size_t step = std::max(one_in, matrix.size() / tried_max);
  for (std::size_t at = 0; at < matrix.size(); at += step) {
    Plan plan = clean;
    plan.faults = {matrix[at]};
    compare(plan, to_text(matrix[at]));
  }
}

TEST_P(Worlds, agree_on_what_comes_after_a_fault) {
  const Plan clean{.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true};
  const std::vector<Fault> kills = sample_of_kills(
      1, GetParam(), matrix_of(sim_.run(scenario_, clean).crossings), aftermaths_tried);
  for (const Fault& kill : kills) {
    Plan plan{.faults = {kill}, .choices = {}, .seed = {}};
    plan.wants_aftermath = true;
    EXPECT_EQ(sim_.run(scenario_, plan).crossings, other_.run(scenario_, plan).crossings)
        << to_text(kill);
  }
}

}  // namespace
}  // namespace lastref::harness
