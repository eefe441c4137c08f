// The two worlds: the same plan crosses the same points with the same results in the simulated
// kernel and in the real one. So a counterexample of the one is a plan for the other.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/explore/jobs.hpp"
#include "harness/explore/kernel_world.hpp"
#include "harness/explore/matrix.hpp"
#include "harness/sim/sim_world.hpp"

namespace lastref::harness {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(LASTREF_COVERAGE)
constexpr std::size_t one_in = 101;
#else
constexpr std::size_t one_in = 7;
#endif
/// Faults of one scenario, at most: the larger ones repeat what the smaller ones have shown.
constexpr std::size_t tried_max = 120;

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
    EXPECT_EQ(difference_of(sim, kernel), "")
        << "first the simulated, then the real: " << scenario.name << ", " << what;
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
    const std::size_t step = std::max(one_in, matrix.size() / tried_max);
    for (std::size_t at = 0; at < matrix.size(); at += step) {
      Plan plan = clean;
      plan.faults = {matrix[at]};
      compare(*scenario, plan, to_text(matrix[at]));
    }
  }
}

}  // namespace
}  // namespace lastref::harness
