// drawn_parameters_test: a campaign draws the values of parameters, and what it reports about such
// a run can be repeated.
#include <algorithm>
#include <array>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/explore/campaign.hpp"
#include "harness/explore/compared_world.hpp"
#include "harness/explore/plans.hpp"
#include "harness/sim/sim_world.hpp"
#include "property_tests/harness/explore/fake_world.hpp"

namespace lastref::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Parameter<int> jobs = {.name = "jobs", .usual = 2, .values = {1, 2, 3}, .unit = "jobs"};
constexpr Parameter<bool> durable = {.name = "durable", .usual = false};

Scenario with_parameters() {
  Scenario scenario = named("family/one");
  scenario.parameters = {jobs, durable};
  return scenario;
}

Outcome clean_run(const Plan& plan) {
  return clean_outcome(plan, {crossing_of("open"), crossing_of("close")});
}

bool has(const Plan& plan, const std::string& value) {
  return std::ranges::any_of(plan.parameters,
                             [&](const ParameterValue& each) { return to_text(each) == value; });
}

CampaignResults campaign_in(World& world, const Scenario& scenario, bool draws = true) {
  World* const worlds[] = {&world};
  CampaignOptions options;
  options.scenarios = {&scenario};
  options.all_scenarios = false;
  options.random_runs_max = 200;
  options.draws_parameters = draws;
  return run_campaign(worlds, options);
}

TEST(DrawnParameters, are_in_random_runs_only) {
  FakeWorld world([](const Scenario&, const Plan& plan) { return clean_run(plan); });
  const CampaignResults report = campaign_in(world, with_parameters());
  EXPECT_EQ(report.values_to_draw, 3U);
  EXPECT_EQ(report.drawn_values.size(), 3U);
  EXPECT_GT(report.runs_with_drawn_values, 100U);
  EXPECT_LT(report.runs_with_drawn_values, 200U);
  const auto first =
      std::ranges::find_if(world.plans, [](const Plan& plan) { return !plan.parameters.empty(); });
  const auto others = static_cast<std::size_t>(first - world.plans.begin());
  EXPECT_GE(others, report.clean_runs + report.matrix_runs);
}

TEST(DrawnParameters, are_the_same_for_one_seed) {
  const auto plans = [] {
    FakeWorld world([](const Scenario&, const Plan& plan) { return clean_run(plan); });
    campaign_in(world, with_parameters());
    std::vector<ParameterValues> drawn;
    std::ranges::transform(world.plans, std::back_inserter(drawn), &Plan::parameters);
    return drawn;
  };
  EXPECT_EQ(plans(), plans());
}

TEST(DrawnParameters, can_be_switched_off) {
  FakeWorld world([](const Scenario&, const Plan& plan) { return clean_run(plan); });
  const CampaignResults report = campaign_in(world, with_parameters(), /*draws=*/false);
  EXPECT_TRUE(std::ranges::all_of(world.plans, &ParameterValues::empty, &Plan::parameters));
  EXPECT_EQ(report.runs_with_drawn_values, 0U);
}

TEST(DrawnParameters, that_a_violation_does_not_need_are_usual_in_its_command) {
  FakeWorld world([](const Scenario&, const Plan& plan) {
    Outcome outcome = clean_run(plan);
    if (has(plan, "jobs=3")) {
      outcome.findings.push_back({.claim = "it holds", .seen = "it does not"});
    }
    return outcome;
  });
  const CampaignResults report = campaign_in(world, with_parameters());
  ASSERT_GT(report.violations, 0U);
  for (const ViolationGroup& group : report.groups) {
    for (const Violation& violation : group.first) {
      EXPECT_TRUE(violation.repeats);
      EXPECT_THAT(violation.replay, HasSubstr("lastref replay family/one --set jobs=3"));
      EXPECT_THAT(violation.replay, Not(HasSubstr("durable")));
    }
  }
}

TEST(DrawnParameters, are_all_usual_in_a_command_if_the_violation_needs_none) {
  FakeWorld world([](const Scenario&, const Plan& plan) {
    Outcome outcome = clean_run(plan);
    if (plan.seed) {
      outcome.findings.push_back({.claim = "it holds", .seen = "it does not"});
    }
    return outcome;
  });
  const CampaignResults report = campaign_in(world, with_parameters());
  ASSERT_GT(report.violations, 0U);
  for (const Violation& violation : report.groups.front().first) {
    EXPECT_THAT(violation.replay, Not(HasSubstr("--set")));
  }
}

TEST(DrawnParameters, are_those_of_the_clean_runs_that_a_run_is_compared_with) {
  FakeWorld world([](const Scenario&, const Plan& plan) {
    Outcome outcome;
    outcome.looks.resize(oracle_names().size());
    outcome.results = RunResults{{"root asks#1", has(plan, "jobs=3") ? "three" : "two"}};
    return outcome;
  });
  const Scenario scenario = with_parameters();
  CleanResults clean;
  Plan plan;
  plan.faults = {{.site = crossing_of("read").site, .kind = FaultKind::fail_once, .error = 4}};
  for (const char* value : {"2", "3"}) {
    plan.parameters = unusual(scenario.parameters, {{.name = "jobs", .value = value}});
    EXPECT_THAT(ComparedWorld(world, clean).run(scenario, plan).findings, IsEmpty()) << value;
  }
  EXPECT_EQ(clean.runs(), 2U);
}

/// Fails with three jobs, in any process of the run.
Scenario that_fails() {
  Scenario scenario = with_parameters();
  const Body client = [](Stage& stage) {
    if (stage.value(jobs) == 3) {
      stage.refute("it holds", "it does not");
    }
    return ok();
  };
  scenario.roles = {{"root",
                     [](Stage& stage) -> Status {
                       LASTREF_CHECK(stage.product().lead());
                       return stage.value(durable) ? stage.product().client().probe()
                                                   : stage.start("client");
                     }},
                    {"client", client}};
  return scenario;
}

TEST(DrawnParameters, reach_every_process_and_a_plan_with_them_repeats_the_violation) {
  const Scenario scenario = that_fails();
  SimWorld world;
  World* const worlds[] = {&world};
  CampaignOptions options;
  options.scenarios = {&scenario};
  options.all_scenarios = false;
  options.share = 0.01;
  options.random_runs_max = 200;
  options.stop_at_first = true;
  const CampaignResults report = run_campaign(worlds, options);
  ASSERT_GT(report.violations, 0U);
  const std::string& command = report.groups.front().first.front().replay;
  EXPECT_THAT(command, HasSubstr(" --set jobs=3"));
  Plan plan;
  plan.parameters = {{.name = "jobs", .value = "3"}};
  EXPECT_THAT(world.run(scenario, plan).findings,
              ElementsAre(Finding{.claim = "it holds", .seen = "it does not"}));
  EXPECT_THAT(replay_command(scenario.name, plan, "sim"),
              "lastref replay family/one --set jobs=3 --world sim");
}

}  // namespace
}  // namespace lastref::harness
