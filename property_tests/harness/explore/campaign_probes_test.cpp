// campaign_probes_test: which probes a campaign has seen, and where first.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/probe.hpp>

#include "harness/explore/campaign.hpp"
#include "property_tests/harness/explore/fake_world.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::harness {
namespace {

const std::string leads_to_first = "root/find_lock()#1 kill_after";

/// Sees every probe but the first, which is seen only after one fault.
FakeWorld::Run sees_probes(const std::string& fault) {
  return [fault](const Scenario&, const Plan& plan) {
    Outcome outcome = clean_outcome(plan, {crossing_of("now"), crossing_of("find_lock")});
    for (std::size_t at = 0; at < probe_rows().size(); ++at) {
      outcome.probes.set(at);
    }
    outcome.probes.set(0, !plan.faults.empty() && to_text(plan.faults.front()) == fault);
    return outcome;
  };
}

class CampaignProbes : public testing::Test {
 protected:
  CampaignResults run(const FakeWorld::Run& act,
                      std::size_t worlds = 1,
                      ProgressFile* memory = nullptr) {
    std::vector<std::unique_ptr<FakeWorld>> owned;
    std::vector<World*> all;
    for (std::size_t at = 0; at < worlds; ++at) {
      owned.push_back(std::make_unique<FakeWorld>(act));
      all.push_back(owned.back().get());
    }
    return run_campaign(all,
                        {.scenarios = {&scenarios_[0], &scenarios_[1]},
                         .all_scenarios = false,
                         .probes = ProbeDemand::required,
                         .budget = {},
                         .random_runs_max = 0,
                         .memory = memory,
                         .clock = {}});
  }

  const std::vector<Scenario> scenarios_ = {named("family/one"), named("family/two")};
};

TEST_F(CampaignProbes, one_that_was_never_seen_leaves_it_incomplete) {
  const CampaignResults report = run(sees_probes("none"));
  ASSERT_EQ(never_seen(report).size(), 1U);
  EXPECT_EQ(never_seen(report).front()->name, probe_rows().front().name);
  EXPECT_EQ(exit_of(report), Exit::incomplete);
}

TEST_F(CampaignProbes, the_run_that_saw_one_first_is_the_same_with_any_number_of_worlds) {
  for (const std::size_t worlds : {std::size_t{1}, std::size_t{7}}) {
    const CampaignResults report = run(sees_probes(leads_to_first), worlds);
    const ProbeReport& first = report.probes.front();
    EXPECT_EQ(first.runs, 2U) << "once in each scenario";
    EXPECT_EQ(first.replay,
              "lastref replay " + first.scenario + " --fault '" + leads_to_first + "'");
    EXPECT_FALSE(first.by_chance);
    EXPECT_EQ(report.probes.back().scenario, "family/one");
    EXPECT_EQ(report.probes.back().runs, report.runs);
    EXPECT_EQ(exit_of(report), Exit::clean);
  }
}

TEST_F(CampaignProbes, those_of_the_gate_that_it_goes_on_with_are_seen) {
  const std::string path = testing::TempDir() + "campaign_probes_test_progress";
  for (const bool goes_on : {false, true}) {
    ProgressFile memory;
    std::string why;
    ASSERT_TRUE(memory.open(path, 1, why)) << why;
    const CampaignResults report = run(sees_probes(leads_to_first), 1, &memory);
    EXPECT_EQ(report.probes.front().seen_earlier, goes_on);
    EXPECT_EQ(report.probes.front().runs, goes_on ? 0U : 2U);
    EXPECT_EQ(exit_of(report), Exit::clean);
  }
  EXPECT_TRUE(std::filesystem::remove(path));
}

TEST_F(CampaignProbes, two_runs_of_one_plan_that_saw_others_are_a_difference) {
  std::size_t runs = 0;
  const CampaignResults report = run([&](const Scenario&, const Plan& plan) {
    Outcome outcome = clean_outcome(plan, {crossing_of("now")});
    outcome.probes.set(0, ++runs % 2 == 0);
    return outcome;
  });
  ASSERT_FALSE(report.differences.empty());
  EXPECT_THAT(report.differences.front().seen,
              testing::HasSubstr(std::string(probe_rows().front().name)));
  pretend::expect_transcript(report.differences.front().seen);
}

}  // namespace
}  // namespace lastref::harness
