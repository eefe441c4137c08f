// shrink_test: a run with findings is reduced to the smallest one that violates the same claims.
#include "harness/explore/shrink.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/harness/explore/fake_world.hpp"

namespace lastref::harness {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Any letters.
constexpr TextForm letters = {
    .sentence = "letters",
    .check = [](std::string_view) -> tl::expected<void, FormError> { return {}; },
    .draw = [](std::uint64_t) { return std::string("x"); },
    .smaller =
        [](std::string_view text) {
          std::vector<std::string> smaller;
          for (std::size_t at = 0; at < text.size(); ++at) {
            smaller.push_back(std::string(text).erase(at, 1));
          }
          return smaller;
        },
};
constexpr TextParameter word = {.name = "word", .usual = "", .form = letters};
constexpr Parameter<int> workers = {.name = "workers", .usual = 2, .values = {1, 2, 3}};

Scenario with_word_and_workers() {
  Scenario scenario = named("family/one");
  scenario.parameters = {word, workers};
  return scenario;
}

bool has_letters(const Plan& plan, const std::string& wanted) {
  return std::ranges::any_of(plan.parameters, [&](const ParameterValue& each) {
    return std::ranges::all_of(
        wanted, [&](char letter) { return std::ranges::count(each.value, letter) != 0; });
  });
}

Outcome with_finding(bool has_one) {
  Outcome outcome;
  if (has_one) {
    outcome.findings.push_back({.claim = "it holds", .seen = "it does not"});
  }
  return outcome;
}

Fault fault_at(const std::string& call) {
  return {.site = crossing_of(call).site, .kind = FaultKind::fail_once, .error = 5};
}

constexpr Switch needed = {.from = 1, .step = 7, .to = 2};

/// The switches that a run had: the given ones, or those of its seed.
Switches switches_of(const Plan& plan) {
  if (!plan.seed) {
    return plan.switches;
  }
  return {{.from = 0, .step = 1, .to = 1}, needed, {.from = 2, .step = 9, .to = 0}};
}

Plan large_plan() {
  Plan plan;
  plan.seed = 5;
  plan.faults = {fault_at("open"), fault_at("close")};
  plan.parameters = {{.name = "workers", .value = "3"}, {.name = "word", .value = "abcdefghij"}};
  return plan;
}

TEST(Shrink, leaves_out_values_faults_parts_of_texts_and_switches_together) {
  FakeWorld world([](const Scenario&, const Plan& plan) {
    const Switches switches = switches_of(plan);
    const bool is_switched =
        plan.choices.empty() ? std::ranges::count(switches, needed) != 0 : plan.choices.size() == 3;
    Outcome outcome = with_finding(has_letters(plan, "cg") && is_switched &&
                                   std::ranges::count(plan.faults, fault_at("close")) != 0);
    outcome.switches = switches;
    outcome.choices = {0, 0, 1};
    return outcome;
  });
  const Scenario scenario = with_word_and_workers();
  Plan plan = large_plan();
  Outcome outcome = world.run(scenario, plan);
  ASSERT_FALSE(outcome.findings.empty());
  shrink(world, scenario, plan, outcome);
  EXPECT_THAT(plan.parameters, ElementsAre(ParameterValue{.name = "word", .value = "cg"}));
  EXPECT_THAT(plan.faults, ElementsAre(fault_at("close")));
  EXPECT_EQ(plan.seed, std::nullopt);
  EXPECT_THAT(plan.choices, ElementsAre(0, 0, 1));
}

TEST(Shrink, needs_no_schedule_where_the_usual_one_shows_it) {
  FakeWorld world([](const Scenario&, const Plan& plan) {
    Outcome outcome = with_finding(has_letters(plan, "a"));
    outcome.switches = switches_of(plan);
    return outcome;
  });
  const Scenario scenario = with_word_and_workers();
  Plan plan = large_plan();
  Outcome outcome = world.run(scenario, plan);
  shrink(world, scenario, plan, outcome);
  EXPECT_THAT(plan.parameters, ElementsAre(ParameterValue{.name = "word", .value = "a"}));
  EXPECT_THAT(plan.faults, IsEmpty());
  EXPECT_THAT(plan.choices, IsEmpty());
  EXPECT_THAT(plan.switches, IsEmpty());
}

TEST(Shrink, tries_other_schedules_where_many_switches_are_needed) {
  Switches many;
  for (std::uint32_t step = 1; step <= 7; ++step) {
    many.push_back({.from = 1, .step = step, .to = 2});
  }
  FakeWorld world([&](const Scenario&, const Plan& plan) {
    const bool draws_few = plan.seed && plan.policy == PolicyName::postpone && *plan.seed >= 40;
    Outcome outcome;
    outcome.switches = plan.switches;
    if (plan.seed && plan.policy == PolicyName::sticky) {
      outcome.switches = many;
    } else if (draws_few) {
      outcome.switches = {needed};
    }
    const bool is_listed = plan.choices == std::vector<std::uint32_t>{0, 1};
    if (outcome.switches == many || outcome.switches == Switches{needed} || is_listed) {
      outcome = with_finding(true);
      outcome.switches = draws_few || plan.switches == Switches{needed} ? Switches{needed} : many;
    }
    outcome.choices = {0, 1};
    return outcome;
  });
  Plan plan;
  plan.seed = 5;
  plan.policy = PolicyName::sticky;
  const Scenario scenario = named("family/one");
  Outcome outcome = world.run(scenario, plan);
  EXPECT_EQ(shrink(world, scenario, plan, outcome), 1U);
  EXPECT_THAT(plan.choices, ElementsAre(0, 1));
}

TEST(Shrink, keeps_what_is_as_small_as_can_be) {
  FakeWorld world(
      [](const Scenario&, const Plan& plan) { return with_finding(plan.faults.size() <= 2); });
  const Scenario scenario = with_word_and_workers();
  Plan plan;
  plan.faults = {fault_at("open"), fault_at("close")};
  Outcome outcome = world.run(scenario, plan);
  shrink(world, scenario, plan, outcome);
  EXPECT_EQ(plan.faults.size(), 2U) << "faults that the matrix planned stay";
}

}  // namespace
}  // namespace lastref::harness
