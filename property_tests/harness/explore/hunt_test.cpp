// Hunt: finds planted races, and reports each once, with answers that repeat it.
#include "harness/explore/hunt.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/owners.hpp>

#include "harness/choice/choices.hpp"
#include "harness/explore/jobs.hpp"
#include "harness/journal/run_log.hpp"
#include "harness/sim/sim_world.hpp"

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

HuntResults hunted(const std::vector<Scenario>& scenarios, HuntOptions options) {
  SimWorld world({.late_words = true});
  const std::array<World*, 1> worlds = {&world};
  for (const Scenario& each : scenarios) {
    options.scenarios.push_back(&each);
  }
  options.has_faults = false;
  return hunt(worlds, options);
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
    EXPECT_GT(switches, 0) << seed;
  }
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

TEST(Hunt, stops_when_it_is_interrupted) {
  int asked = 0;
  const HuntResults report =
      hunted({seen_in_between({1})}, {.is_interrupted = [&] { return ++asked > 10; }});
  EXPECT_TRUE(report.interrupted);
  EXPECT_LE(report.runs, 10U);
}

}  // namespace
}  // namespace lastref::harness
