// second_level_test: faults at points that only runs with a fault reach.
#include "harness/explore/second_level.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/explore/campaign.hpp"
#include "harness/explore/matrix.hpp"
#include "property_tests/harness/explore/fake_world.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t faults_of_find_lock = 6;

Crossing found_at(std::uint32_t callers, const std::string& role = "root", std::uint32_t k = 1) {
  Crossing made = crossing_of("find_lock", k);
  made.site.role = role;
  made.callers = callers;
  return made;
}

Fault killed_before(const Crossing& crossing) {
  return {.site = crossing.site, .kind = FaultKind::kill_before};
}

class SecondLevelTest : public testing::Test {
 protected:
  SecondLevel level(std::uint64_t seed = 1) const { return {std::span(&clean_, 1), seed}; }

  const Crossing usual_ = found_at(7);
  const Fault first_ = killed_before(usual_);
  const Fault other_first_ = killed_before(found_at(7, "root", 2));
  const ScenarioMatrix clean_ = scenario_matrix_of(std::span(&usual_, 1));
};

TEST_F(SecondLevelTest, a_moment_of_clean_runs_is_of_the_first_level) {
  SecondLevel tested = level();
  const Crossing again = found_at(7, "root#2", 9);
  tested.add(0, first_, std::span(&again, 1));
  EXPECT_EQ(tested.moments(), 0U);
  EXPECT_TRUE(tested.pairs().empty());
}

TEST_F(SecondLevelTest, a_new_moment_gets_each_fault_that_is_worth_planning) {
  SecondLevel tested = level();
  const Crossing fresh = found_at(8, "root#2");
  tested.add(3, first_, std::span(&fresh, 1));
  const std::vector<Fault> worth = matrix_of(std::span(&fresh, 1));
  ASSERT_EQ(worth.size(), faults_of_find_lock);
  std::vector<Fault> seconds;
  for (const Pair& pair : tested.pairs()) {
    EXPECT_EQ(pair.scenario, 3U);
    EXPECT_EQ(pair.first, first_);
    seconds.push_back(pair.second);
  }
  EXPECT_EQ(seconds, worth);
}

TEST_F(SecondLevelTest, what_has_no_callers_is_no_moment) {
  SecondLevel tested = level();
  const Crossing fresh = found_at(0);
  tested.add(0, first_, std::span(&fresh, 1));
  EXPECT_EQ(tested.moments(), 0U);
}

TEST_F(SecondLevelTest, the_order_of_runs_decides_nothing_and_the_seed_does) {
  const Crossing here = found_at(8);
  const Crossing there = found_at(8, "root", 2);
  std::set<std::vector<Pair>> drawn;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SecondLevel one = level(seed);
    one.add(0, first_, std::span(&here, 1));
    one.add(1, other_first_, std::span(&there, 1));
    SecondLevel other = level(seed);
    other.add(1, other_first_, std::span(&there, 1));
    other.add(0, first_, std::span(&here, 1));
    EXPECT_EQ(one.pairs(), other.pairs());
    EXPECT_EQ(one.moments(), 1U);
    drawn.insert(one.pairs());
  }
  EXPECT_EQ(drawn.size(), 2U);
}

/// Reaches another point once a fault was injected. With `strikes`, a second fault there is
/// injected.
FakeWorld::Run recovers(bool strikes) {
  return [strikes](const Scenario&, const Plan& plan) {
    Outcome outcome = clean_outcome(plan, {found_at(7)});
    if (plan.wants_aftermath) {
      outcome.crossings = {found_at(8, "root#2")};
    }
    outcome.faults_fired = strikes ? outcome.faults_fired : std::min(outcome.faults_fired, 1U);
    return outcome;
  };
}

CampaignOptions no_random_runs() {
  return {.scenarios = {}, .all_scenarios = false, .budget = {}, .random_runs_max = 0, .clock = {}};
}

CampaignResults campaign_in(const FakeWorld::Run& run, CampaignOptions options = no_random_runs()) {
  FakeWorld world(run);
  World* const worlds[] = {&world};
  const Scenario scenario = named("family/one");
  options.scenarios = {&scenario};
  return run_campaign(worlds, options);
}

TEST(SecondLevelOfCampaign, is_executed_and_counted) {
  const CampaignResults report = campaign_in(recovers(true));
  EXPECT_EQ(report.matrix.all.executed, faults_of_find_lock);
  EXPECT_EQ(report.second_level.all,
            (Count{.total = faults_of_find_lock, .executed = faults_of_find_lock}));
  EXPECT_EQ(report.second_level_runs, faults_of_find_lock);
  EXPECT_EQ(exit_of(report), Exit::clean);
}

TEST(SecondLevelOfCampaign, counts_what_struck_alone) {
  const CampaignResults report = campaign_in(recovers(false));
  EXPECT_EQ(report.second_level.all, (Count{.total = faults_of_find_lock, .executed = 0}));
  ASSERT_EQ(report.missed.size(), faults_of_find_lock);
  EXPECT_NE(report.missed.front().fault.find(", then root#2/find_lock()#1"), std::string::npos);
  EXPECT_EQ(exit_of(report), Exit::incomplete);
}

/// One injected fault is enough, because the second may be at a call that only the bug makes.
TEST(SecondLevelOfCampaign, has_known_plans_besides_of_the_scenarios_that_run) {
  const std::vector<KnownPlan> known = {
      {.scenario = "family/one",
       .faults = {"root/find_lock()#1 pause", "root/find_lock()#2 fail_once EIO"}},
      {.scenario = "family/other", .faults = {"root/find_lock()#1 pause"}}};
  CampaignOptions options = no_random_runs();
  options.known = known;
  const Count one_more = {.total = faults_of_find_lock + 1, .executed = faults_of_find_lock + 1};
  EXPECT_EQ(campaign_in(recovers(true), options).second_level.all, one_more);
  const CampaignResults report = campaign_in(recovers(false), options);
  EXPECT_EQ(report.second_level.all, (Count{.total = one_more.total, .executed = 1}));
}

/// Known plans are not part of the sample.
TEST(SecondLevelOfCampaign, is_drawn_by_the_seed_where_a_share_is_wanted) {
  const std::vector<KnownPlan> known = {
      {.scenario = "family/one",
       .faults = {"root/find_lock()#1 pause", "root/find_lock()#2 fail_once EIO"}}};
  CampaignOptions options = no_random_runs();
  options.known = known;
  options.share = 0.5;
  std::size_t drawn = 0;
  constexpr std::uint64_t seeds = 200;
  for (options.seed = 1; options.seed <= seeds; ++options.seed) {
    const CampaignResults report = campaign_in(recovers(true), options);
    ASSERT_EQ(report.second_level_whole, faults_of_find_lock);
    ASSERT_GE(report.second_level.all.total, 1U);
    ASSERT_EQ(report.second_level, campaign_in(recovers(true), options).second_level);
    drawn += report.second_level.all.total - 1;
  }
  EXPECT_NEAR(static_cast<double>(drawn), 0.5 * faults_of_find_lock * seeds, 100);
}

TEST(SecondLevelOfCampaign, misses_known_plans_that_do_not_strike) {
  const std::vector<KnownPlan> known = {
      {.scenario = "family/one", .faults = {"root/find_lock()#9 pause"}},
      {.scenario = "family/one", .faults = {"root/find_lock()#9 pause"}, .seed = 7}};
  CampaignOptions options = no_random_runs();
  options.known = known;
  const CampaignResults report =
      campaign_in([](const Scenario&, const Plan&) { return clean_outcome({}, {}); }, options);
  ASSERT_EQ(report.missed.size(), 2U);
  EXPECT_EQ(report.missed.front().fault, "root/find_lock()#9 pause");
  EXPECT_THAT(report.missed.back().fault, testing::StartsWith("root/find_lock()#9 pause, "));
  EXPECT_THAT(report.missed.back().fault, testing::EndsWith(" 7"));
  EXPECT_EQ(exit_of(report), Exit::incomplete);
}

TEST(KnownPlans, are_faults_of_scenarios_that_there_are) {
  for (const KnownPlan& plan : known_plans()) {
    EXPECT_NE(scenario_named(plan.scenario), nullptr);
    EXPECT_FALSE(plan.faults.empty());
    for (const std::string& fault : plan.faults) {
      EXPECT_TRUE(parse_fault(fault).has_value()) << fault;
    }
  }
}

TEST(SecondLevelOfCampaign, gives_pairs_to_random_runs_which_count_if_both_faults_strike) {
  CampaignOptions options = no_random_runs();
  options.random_runs_max = 200;
  const CampaignResults both = campaign_in(recovers(true), options);
  EXPECT_GT(both.random_pairs_of_matrix.total, 0U);
  EXPECT_GT(both.random_pairs_of_second_level.total, 0U);
  EXPECT_EQ(both.random_pairs_of_matrix.executed, both.random_pairs_of_matrix.total);
  EXPECT_EQ(both.random_pairs_of_second_level.executed, both.random_pairs_of_second_level.total);
  const CampaignResults one = campaign_in(recovers(false), options);
  EXPECT_EQ(one.random_pairs_of_matrix, (Count{.total = both.random_pairs_of_matrix.total}));
  EXPECT_EQ(one.random_pairs_of_second_level,
            (Count{.total = both.random_pairs_of_second_level.total}));
}

TEST(SecondLevelOfCampaign, goes_on_wherever_it_was_interrupted) {
  const std::string path = testing::TempDir() + "second_level_test_progress";
  const CampaignResults whole = campaign_in(recovers(true));
  const std::size_t runs_of_all = whole.matrix_runs + whole.second_level_runs;
  for (std::size_t runs_at_first = 1; runs_at_first <= runs_of_all; ++runs_at_first) {
    std::filesystem::remove(path);
    std::size_t runs = 0;
    std::string why;
    CampaignOptions options = no_random_runs();
    const FakeWorld::Run counted = [&](const Scenario& scenario, const Plan& plan) {
      runs += plan.faults.empty() ? 0U : 1U;
      return recovers(true)(scenario, plan);
    };
    for (const bool is_first : {true, false}) {
      ProgressFile memory;
      ASSERT_TRUE(memory.open(path, 1, why)) << why;
      options.memory = &memory;
      options.is_interrupted = [&] { return is_first && runs >= runs_at_first; };
      const CampaignResults report = campaign_in(counted, options);
      if (!is_first) {
        EXPECT_EQ(report.matrix, whole.matrix) << runs_at_first;
        EXPECT_EQ(report.second_level, whole.second_level) << runs_at_first;
        EXPECT_EQ(exit_of(report), Exit::clean) << runs_at_first;
      }
    }
    EXPECT_EQ(runs, runs_of_all) << "nothing is executed twice";
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace lastref::harness
