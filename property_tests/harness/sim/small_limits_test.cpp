// small_limits_test: the library keeps its promises with every limit at its small value.
#include "impl/os/small_limits.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "harness/scenario/product_limits.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/sim/sim_world.hpp"

namespace lastref::harness {
namespace {

/// One run, which has to be clean. Returns its journal.
std::string journal_with(const Scenario& scenario, std::string_view limits) {
  SimWorld world;
  world.keep_journal(true);
  Plan plan;
  if (!limits.empty()) {
    plan.parameters = {{.name = std::string(limits_parameter), .value = std::string(limits)}};
  }
  const Outcome outcome = world.run(scenario, plan);
  for (const Finding& finding : outcome.findings) {
    ADD_FAILURE() << scenario.name << " --set limits=" << limits << ": " << finding.claim << ": "
                  << finding.seen;
  }
  return world.journal();
}

constexpr const char* some_scenarios[] = {"arrays/array_round_trip",
                                          "arrays/worker_forwards_array",
                                          "caches/two_workers_share_cache",
                                          "jobs/twenty_tasks_in_two_workers",
                                          "tracker/holder_is_killed",
                                          "tracker/tracker_is_killed"};

std::vector<std::string> names_of_limits() {
  std::vector<std::string> names;
  for (const os::LimitRow& row : os::limit_rows) {
    names.emplace_back(row.name);
  }
  return names;
}

class LimitRows : public testing::TestWithParam<std::string> {};

TEST_P(LimitRows, may_be_small_alone) {
  for (const char* const name : some_scenarios) {
    const Scenario* const scenario = scenario_named(name);
    ASSERT_NE(scenario, nullptr) << name;
    journal_with(*scenario, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(SmallLimits,
                         LimitRows,
                         testing::ValuesIn(names_of_limits()),
                         [](const auto& each) { return each.param; });

TEST(SmallLimits, change_what_most_scenarios_do) {
  std::size_t changed = 0;
  std::size_t all = 0;
  for (const Scenario& scenario : catalog()) {
    if (scenario.kernel_only || !scenario.in_matrix() || !scenario.in_gate) {
      continue;
    }
    ++all;
    changed += journal_with(scenario, {}) == journal_with(scenario, "small") ? 0U : 1U;
  }
  EXPECT_GT(2 * changed, all);
}

TEST(SmallLimits, are_those_of_the_run_and_of_no_other) {
  EXPECT_EQ(&limits_in({}), &os::usual_limits);
  const ParameterValues small = {{.name = "limits", .value = "small"}};
  EXPECT_EQ(&limits_in(small), &os::small_limits);
  const ParameterValues one = {{.name = "limits", .value = "names_per_round"}};
  EXPECT_EQ(limits_in(one).names_per_round, os::small_limits.names_per_round);
  EXPECT_EQ(limits_in(one).messages_per_round, os::usual_limits.messages_per_round);
  const ParameterValues other = {{.name = "workers", .value = "3"}};
  EXPECT_EQ(&limits_in(other), &os::usual_limits);
}

TEST(SmallLimits, are_a_parameter_of_every_scenario) {
  for (const Scenario& scenario : catalog()) {
    const auto found =
        std::ranges::find(scenario.parameters, limits_parameter, &DeclaredParameter::name);
    ASSERT_NE(found, scenario.parameters.end()) << scenario.name;
    EXPECT_TRUE(found->may_be("small"));
    EXPECT_EQ(found->usual, "usual");
  }
}

}  // namespace
}  // namespace lastref::harness
