// Hunt: finds planted races, and reports each once, with answers that repeat it.
#include "harness/explore/hunt.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <lastref/owners.hpp>

#include "harness/choice/choices.hpp"
#include "harness/explore/hunt_state.hpp"
#include "harness/explore/jobs.hpp"
#include "harness/journal/run_log.hpp"
#include "harness/mutant/trial.hpp"
#include "harness/report/json.hpp"
#include "harness/sim/sim_world.hpp"
#include "property_tests/harness/explore/fake_world.hpp"

namespace lastref::harness {
namespace {

int digit_in(Stage& stage, const std::string& name) {
  auto file = os::open_file(stage.os(), stage.folder() + name, {});
  std::array<std::byte, 1> digit{};
  return file && stage.os().read(file->get(), digit) ? static_cast<int>(digit[0]) - '0' : -1;
}

void keep(Stage& stage, const std::string& name, int digit) {
  auto file =
      os::open_file(stage.os(), stage.folder() + name, {.write = true, .create = digit == 1});
  const std::array bytes = {static_cast<std::byte>('0' + digit)};
  ASSERT_TRUE(file);
  ASSERT_TRUE(os::write_all_at(stage.os(), file->get(), bytes, 0));
}

/// The writer gives each file the value 1 and then 2. It is a violation if the reader sees exactly
/// `seen`, one value of each file. Each 1 needs the reader in the moment between, and each change
/// between reader and writer a preemption: {1} needs one, {1, 2} two, {1, 1} three.
Scenario seen_in_between(const std::vector<int>& seen) {
  return {
      .name = "toy/seen_in_between",
      .sentence = "A reader sees each file in its short state. (It may.)",
      .rows = {},
      .roles = {{"root",
                 [seen](Stage& stage) -> Status {
                   LASTREF_CHECK(stage.start("writer"));
                   LASTREF_CHECK(stage.start("reader"));
                   stage.await("written");
                   stage.await("read");
                   for (std::size_t file = 0; file < seen.size(); ++file) {
                     LASTREF_CHECK(stage.os().unlink(stage.folder() + "/" + std::to_string(file)));
                   }
                   return ok();
                 }},
                {"writer",
                 [seen](Stage& stage) -> Status {
                   for (std::size_t file = 0; file < seen.size(); ++file) {
                     keep(stage, "/" + std::to_string(file), 1);
                     keep(stage, "/" + std::to_string(file), 2);
                   }
                   stage.tell("written");
                   return ok();
                 }},
                {"reader", [seen](Stage& stage) -> Status {
                   bool all = true;
                   for (std::size_t file = 0; file < seen.size(); ++file) {
                     all = digit_in(stage, "/" + std::to_string(file)) == seen[file] && all;
                   }
                   if (all) {
                     stage.refute("toy: no file is in between", "all are");
                   }
                   stage.tell("read");
                   return ok();
                 }}}};
}

/// The reader may come before the writer has created the file, and before it has written it. Both
/// violate one claim.
Scenario two_ways_to_fail() {
  Scenario toy = seen_in_between({1});
  toy.name = "toy/two_ways_to_fail";
  toy.roles[2].body = [](Stage& stage) -> Status {
    const int digit = digit_in(stage, "/0");
    if (digit != 2) {
      stage.refute("toy: the file is complete", digit == 1 ? "it is not" : "there is none");
    }
    stage.tell("read");
    return ok();
  };
  return toy;
}

HuntOptions without_faults(const std::vector<Scenario>& scenarios, HuntOptions options) {
  for (const Scenario& each : scenarios) {
    options.scenarios.push_back(&each);
  }
  options.has_faults = false;
  return options;
}

HuntResults hunted(const std::vector<Scenario>& scenarios, HuntOptions options) {
  SimWorld world({.late_words = true});
  const std::array<World*, 1> worlds = {&world};
  return hunt(worlds, without_faults(scenarios, std::move(options)));
}

/// The state at the end of a hunt, without times.
HuntState state_after(const std::vector<Scenario>& scenarios,
                      std::uint64_t runs,
                      const HuntState* from = nullptr) {
  HuntState last;
  hunted(scenarios,
         {.seed = 3,
          .runs_max = runs,
          .from = from,
          .save = [&](const HuntState& state) { last = state; },
          .clock = [] { return 0.0; }});
  for (HuntedScenario& each : last.results.scenarios) {
    each.seconds = 0;
  }
  return last;
}

TEST(Hunt, finds_a_race_of_one_preemption_among_the_single_deviations) {
  const HuntResults report = hunted({seen_in_between({1})}, {.runs_max = 300});
  ASSERT_EQ(report.violations.size(), 1U);
  EXPECT_EQ(report.violations.front().claim, "toy: no file is in between");
  EXPECT_TRUE(report.violations.front().repeats);
  EXPECT_EQ(report.scenarios.front().deviations.executed,
            report.scenarios.front().deviations.total);
  EXPECT_GT(report.scenarios.front().deviations.total, 5U);
  EXPECT_GT(report.scenarios.front().orders, 0U);
}

class HuntWith : public testing::TestWithParam<PolicyName> {};

TEST_P(HuntWith, finds_a_race_of_two_preemptions_and_shrinks_it) {
  const std::vector<Scenario> toys = {seen_in_between({1, 2})};
  const HuntResults report =
      hunted(toys, {.policies = {GetParam()}, .runs_max = 5000, .stop_at_first = true});
  ASSERT_EQ(report.violations.size(), 1U);
  const std::string& replay = report.violations.front().replay;
  const std::string option = " --choices ";
  const std::size_t at = replay.find(option);
  ASSERT_NE(at, std::string::npos) << replay;
  EXPECT_EQ(replay.find(" --seed "), std::string::npos) << replay;
  const std::size_t first = at + option.size();
  const auto choices = parse_choices(replay.substr(first, replay.find(' ', first) - first));
  ASSERT_TRUE(choices);
  EXPECT_LE(std::ranges::count_if(*choices, [](std::uint32_t each) { return each != 0; }), 4)
      << replay;
  SimWorld world({.late_words = true});
  Plan plan;
  plan.choices = *choices;
  const Outcome outcome = world.run(toys.front(), plan);
  ASSERT_FALSE(outcome.findings.empty());
  EXPECT_EQ(outcome.findings.front().claim, "toy: no file is in between");
}

INSTANTIATE_TEST_SUITE_P(All,
                         HuntWith,
                         testing::Values(PolicyName::sticky,
                                         PolicyName::delays,
                                         PolicyName::postpone,
                                         PolicyName::pct,
                                         PolicyName::pos,
                                         PolicyName::surw),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST(Hunt, takes_all_scenarios_in_turn_and_reports_a_claim_once) {
  const std::vector<Scenario> toys = {seen_in_between({1}), seen_in_between({1, 1, 1})};
  const HuntResults report = hunted(toys, {.runs_max = 1000});
  EXPECT_EQ(report.runs, 1000U);
  EXPECT_EQ(report.scenarios[0].runs + report.scenarios[1].runs, report.runs);
  EXPECT_GT(report.scenarios[1].runs, 300U);
  EXPECT_GE(report.runs_with_findings, report.violations.size());
  std::uint64_t drawn = 0;
  for (const HuntedPolicy& each : report.policies) {
    EXPECT_GT(each.runs, 0U) << name_of(each.name);
    drawn += each.runs;
  }
  EXPECT_LT(drawn, report.runs);
  EXPECT_TRUE(std::ranges::is_sorted(report.curve, {}, &HuntMoment::orders));
}

TEST(Hunt, gives_the_same_for_the_same_seed) {
  const std::vector<Scenario> toys = {seen_in_between({1, 2})};
  const HuntOptions options{.seed = 5, .runs_max = 500};
  const HuntResults one = hunted(toys, options);
  const HuntResults other = hunted(toys, options);
  EXPECT_EQ(one.runs_with_findings, other.runs_with_findings);
  EXPECT_EQ(one.scenarios.front().orders, other.scenarios.front().orders);
  ASSERT_EQ(one.violations.size(), other.violations.size());
  for (std::size_t at = 0; at < one.violations.size(); ++at) {
    EXPECT_EQ(one.violations[at].replay, other.violations[at].replay);
  }
}

/// The number of deviations among 400 runs, of which only deviations, or only drawn runs, have new
/// orders.
std::size_t deviations_if_new_orders_are_of(bool of_deviations) {
  std::uint64_t orders = 0;
  FakeWorld world([&](const Scenario&, const Plan& plan) {
    Outcome outcome;
    outcome.options.assign(1000, 2);
    outcome.estimate = std::make_shared<RunEstimate>();
    if (plan.seed.has_value() != of_deviations) {
      outcome.conflicts = {++orders};
    }
    return outcome;
  });
  const std::array<World*, 1> worlds = {&world};
  const std::vector<Scenario> one = {named("toy/one")};
  const HuntResults results = hunt(worlds, without_faults(one, {.runs_max = 400}));
  return results.scenarios.front().deviations.executed;
}

TEST(Hunt, makes_more_deviations_while_they_show_new_orders) {
  EXPECT_GT(deviations_if_new_orders_are_of(true), 150U);
  const std::size_t fewest = deviations_if_new_orders_are_of(false);
  EXPECT_LT(fewest, 80U);
  EXPECT_GT(fewest, 20U);
}

TEST(Hunt, reports_its_progress_after_each_run) {
  std::vector<std::size_t> seen;
  hunted({seen_in_between({1})},
         {.runs_max = 20, .progress = [&](const CampaignProgress& progress) {
            EXPECT_EQ(progress.total, 20U);
            seen.push_back(progress.runs);
          }});
  ASSERT_EQ(seen.size(), 20U);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
}

TEST(Hunt, explains_a_race_by_the_calls_on_the_object_that_was_raced_for) {
  const HuntResults report = hunted({seen_in_between({1})}, {.runs_max = 300});
  ASSERT_EQ(report.violations.size(), 1U);
  const Violation& violation = report.violations.front();
  EXPECT_THAT(violation.timeline, testing::HasSubstr("paused before"));
  EXPECT_THAT(violation.timeline, testing::HasSubstr("FINDING toy: no file is in between"));
  EXPECT_THAT(violation.last_crossings, testing::Not(testing::IsEmpty()));
  EXPECT_THAT(violation.last_crossings, testing::Each(testing::HasSubstr("(0)")));
  EXPECT_THAT(violation.last_crossings, testing::Contains(testing::StartsWith("reader ")));
  EXPECT_THAT(violation.last_crossings, testing::Contains(testing::StartsWith("writer ")));
}

TEST(RunLog, has_each_switch_and_changes_nothing) {
  const Scenario toy = seen_in_between({1, 2});
  SimWorld world;
  std::ptrdiff_t all = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Plan plan;
    plan.seed = seed;
    plan.policy = PolicyName::pos;
    plan.wants_crossings = true;
    const Outcome without = world.run(toy, plan);
    plan.wants_log = true;
    const Outcome with = world.run(toy, plan);
    EXPECT_EQ(difference_of(without, with), "") << seed;
    EXPECT_EQ(without.log, nullptr);
    ASSERT_NE(with.log, nullptr);
    const auto switches = std::ranges::count(with.log->steps, true, &RunStep::is_switch);
    EXPECT_EQ(switches, std::ranges::count(with.switches, Switch::Kind::actor, &Switch::kind))
        << seed;
    all += switches;
  }
  EXPECT_GT(all, 20);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
std::size_t resident_pages() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  file >> all >> resident;
  return resident;
}

TEST(RunEstimate, is_all_that_remains_of_the_counted_steps_of_a_run) {
  const Scenario toy = seen_in_between({1, 2});
  SimWorld world({.arena = true});
  Plan plan;
  plan.wants_estimate = true;
  plan.wants_log = true;
  const auto pages_after = [&](int runs) {
    for (int run = 0; run < runs; ++run) {
      world.run(toy, plan);
    }
    return resident_pages();
  };
  const std::size_t before = pages_after(50);
  constexpr std::size_t pages_max = 300;  // A few hundred bytes of each run would be more.
  EXPECT_LT(pages_after(5000), before + pages_max);
  EXPECT_GT(before, 0U);
}
#endif

TEST(Hunt, reports_a_claim_once_for_each_shape_of_its_findings) {
  const HuntResults report = hunted({two_ways_to_fail()}, {.runs_max = 300});
  ASSERT_EQ(report.violations.size(), 2U);
  EXPECT_EQ(report.violations[0].claim, report.violations[1].claim);
  EXPECT_NE(report.violations[0].seen, report.violations[1].seen);
  EXPECT_NE(report.violations[0].fingerprint, report.violations[1].fingerprint);
  EXPECT_EQ(report_of(report).groups.size(), 2U);
}

TEST(Hunt, is_the_same_in_one_piece_and_in_two) {
  const std::vector<Scenario> toys = {seen_in_between({1, 2}), two_ways_to_fail()};
  const std::string whole = to_text(state_after(toys, 400));
  for (const std::uint64_t first : {1U, 2U, 7U, 200U, 399U, 400U}) {
    const std::string half = to_text(state_after(toys, first));
    const auto state = parse_hunt_state(half, without_faults(toys, {.seed = 3}));
    ASSERT_TRUE(state) << name_of(state.error());
    EXPECT_EQ(to_text(state_after(toys, 400, &*state)), whole) << first;
  }
}

TEST(Hunt, makes_the_runs_again_that_were_not_over) {
  const std::vector<Scenario> toys = {seen_in_between({1})};
  HuntState state = state_after(toys, 100);
  state.under_way = {{.number = 3, .scenario = 0, .is_deviation = true, .index = 0},
                     {.number = 5, .scenario = 0, .index = 1, .policy = PolicyName::pos}};
  const HuntState after = state_after(toys, 100, &state);
  EXPECT_EQ(after.results.runs, 102U);
  EXPECT_EQ(after.given, 100U);
  EXPECT_TRUE(after.under_way.empty());
}

TEST(Hunt, with_first_stops_at_a_violation_that_was_not_known) {
  const std::vector<Scenario> toys = {two_ways_to_fail()};
  HuntState state;
  const auto save = [&](const HuntState& last) { state = last; };
  const HuntResults one = hunted(toys, {.runs_max = 300, .stop_at_first = true, .save = save});
  ASSERT_EQ(one.violations.size(), 1U);
  const HuntState from = state;
  const HuntResults two =
      hunted(toys, {.runs_max = 300, .stop_at_first = true, .from = &from, .save = save});
  EXPECT_EQ(two.violations.size(), 2U);
  EXPECT_GT(two.runs, one.runs);
}

TEST(Hunt, saves_its_state_regularly) {
  double now = 0;
  std::vector<std::uint64_t> saved;
  hunted({seen_in_between({1})},
         {.runs_max = 20,
          .save = [&](const HuntState& state) { saved.push_back(state.results.runs); },
          .progress = [&](const CampaignProgress&) { now += seconds_between_saves / 5; },
          .clock = [&] { return now; }});
  EXPECT_EQ(saved, (std::vector<std::uint64_t>{6, 11, 16, 20}));
}

TEST(Hunt, reports_each_scenario_as_a_case) {
  const Report report = report_of(hunted({seen_in_between({1})}, {.runs_max = 30}));
  ASSERT_EQ(report.cases.size(), 1U);
  EXPECT_EQ(report.cases.front().suite, "toy");
  EXPECT_EQ(report.cases.front().name, "seen_in_between");
  EXPECT_EQ(report.cases.front().output.substr(0, 8), "30 runs,");
}

TEST(Hunt, reports_to_programs_what_it_covered) {
  const HuntResults results = hunted({seen_in_between({1})}, {.runs_max = 30});
  const std::string json = to_json(report_of(results));
  const auto report = nlohmann::json::parse(json);
  EXPECT_EQ(report["scenarios"][0]["runs"], 30);
  EXPECT_EQ(report["policies"].size(), results.policies.size());
  EXPECT_EQ(report["curve"].back()["orders"], results.curve.back().orders);
  EXPECT_EQ(trial_of_gate(json).value().runs, 30U);
}

TEST(Hunt, stops_when_it_is_interrupted) {
  int asked = 0;
  const HuntResults report =
      hunted({seen_in_between({1})}, {.is_interrupted = [&] { return ++asked > 10; }});
  EXPECT_TRUE(report.interrupted);
  EXPECT_LE(report.runs, 10U);
}

}  // namespace
}  // namespace lastref::harness
