// The two worlds: the same plan crosses the same points with the same results in the simulated
// kernel and in the real one. So a counterexample of the one is a plan for the other.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/explore/kernel_world.hpp"
#include "harness/explore/matrix.hpp"
#include "harness/sim/sim_world.hpp"
#include "property_tests/printing.hpp"

namespace lastref::harness {
namespace {

/// "root/open(lock)#1 = 2 (injected) (waited)"
std::string to_text(const Crossing& crossing) {
  return harness::to_text(crossing.point) + " = " + std::to_string(crossing.error) +
         (crossing.injected ? " (injected)" : "") + (crossing.waited ? " (waited)" : "");
}

/// Where two runs begin to differ.
testing::AssertionResult agree(const std::vector<Crossing>& sim,
                               const std::vector<Crossing>& kernel) {
  const auto [here, there] = std::mismatch(sim.begin(), sim.end(), kernel.begin(), kernel.end());
  if (here == sim.end() && there == kernel.end()) {
    return testing::AssertionSuccess();
  }
  const std::string one = here == sim.end() ? "the end" : to_text(*here);
  const std::string other = there == kernel.end() ? "the end" : to_text(*there);
  return testing::AssertionFailure()
         << "at crossing " << here - sim.begin() << " the simulated has " << one
         << " and the real has " << other;
}

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t one_in = 101;
#else
constexpr std::size_t one_in = 7;
#endif

class Worlds : public testing::Test {
 protected:
  void SetUp() override {
    if (!kernel_.degraded().empty()) {
      GTEST_SKIP() << "needs namespaces, else pids and folders differ: " << kernel_.degraded();
    }
  }

  /// Scenarios that both worlds can run, and whose size is not their point.
  static std::vector<const Scenario*> common() {
    std::vector<const Scenario*> chosen;
    for (const Scenario& each : catalog()) {
      if (!each.kernel_only && each.in_matrix) {
        chosen.push_back(&each);
      }
    }
    return chosen;
  }

  void compare(const Scenario& scenario, const Plan& plan, const std::string& what) {
    const Outcome sim = sim_.run(scenario, plan);
    const Outcome kernel = kernel_.run(scenario, plan);
    EXPECT_TRUE(agree(sim.crossings, kernel.crossings)) << scenario.name << ", " << what;
    EXPECT_EQ(sim.choices, kernel.choices) << scenario.name << ", " << what;
    EXPECT_EQ(sim.findings, kernel.findings) << scenario.name << ", " << what;
    EXPECT_EQ(sim.standard_error, kernel.standard_error) << scenario.name << ", " << what;
  }

  // The real one first: a fork of a small program.
  KernelWorld kernel_{{.scenarios = &catalog()}};
  SimWorld sim_{{.arena = true}};
};

TEST_F(Worlds, agree_on_clean_runs) {
  for (const Scenario* scenario : common()) {
    compare(*scenario, {.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true}, "clean");
  }
}

TEST_F(Worlds, agree_on_random_orders) {
  for (const Scenario* scenario : common()) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      compare(*scenario,
              {.faults = {}, .choices = {}, .seed = seed, .wants_crossings = true},
              "seed " + std::to_string(seed));
    }
  }
}

TEST_F(Worlds, agree_on_faults) {
  for (const Scenario* scenario : common()) {
    const Plan clean{.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true};
    const std::vector<Fault> matrix = matrix_of(sim_.run(*scenario, clean).crossings);
    for (std::size_t at = 0; at < matrix.size(); at += one_in) {
      Plan plan = clean;
      plan.faults = {matrix[at]};
      compare(*scenario, plan, harness::to_text(matrix[at]));
    }
  }
}

}  // namespace
}  // namespace lastref::harness
