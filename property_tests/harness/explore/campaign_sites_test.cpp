// campaign_sites_test: which cells a campaign executes, and that it reports their number.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/explore/campaign.hpp"
#include "harness/explore/site_matrix.hpp"
#include "harness/report/text.hpp"
#include "property_tests/harness/explore/fake_world.hpp"

namespace lastref::harness {
namespace {

/// Three kills, and a pause.
constexpr std::size_t faults_of_now = 4;
constexpr std::size_t points = 8;

/// Many points with the same call stack of the program.
Outcome comes_one_way(const Scenario&, const Plan& plan) {
  std::vector<Crossing> crossings;
  for (std::uint32_t k = 1; k <= points; ++k) {
    crossings.push_back(crossing_of("now", k));
    crossings.back().callers = 7;
  }
  return clean_outcome(plan, std::move(crossings));
}

class CampaignSites : public testing::Test {
 protected:
  CampaignResults run() {
    FakeWorld world(comes_one_way);
    World* const worlds[] = {&world};
    return run_campaign(worlds, options_);
  }

  const std::vector<Scenario> scenarios_ = {named("family/one"), named("family/two")};
  CampaignOptions options_ = {.scenarios = {&scenarios_[0], &scenarios_[1]},
                              .all_scenarios = false,
                              .budget = {},
                              .random_runs_max = 0,
                              .clock = {}};
};

TEST_F(CampaignSites, one_moment_of_the_program_is_struck_in_a_few_places) {
  const CampaignResults report = run();
  const std::size_t wanted = 3 * cells_for(FaultKind::kill_before) + cells_for(FaultKind::pause);
  EXPECT_EQ(report.matrix.all, (Count{.total = wanted, .executed = wanted}));
  EXPECT_EQ(report.full_matrix, 2 * points * faults_of_now);
  EXPECT_EQ(report.site_matrix, wanted);
  EXPECT_EQ(exit_of(report), Exit::clean);
  EXPECT_THAT(to_text(report_of(report)),
              testing::ContainsRegex(
                  fmt::format(" {} faults, .* {}\n", wanted, 2 * points * faults_of_now)));
}

TEST_F(CampaignSites, all_are_struck_where_all_is_wanted) {
  options_.full = true;
  const CampaignResults report = run();
  EXPECT_EQ(report.matrix.all.executed, report.full_matrix);
  EXPECT_EQ(report.full_matrix, 2 * points * faults_of_now);
  EXPECT_LT(report.site_matrix, report.full_matrix);
}

TEST_F(CampaignSites, an_ambient_gets_few_kills_unless_all_is_wanted) {
  const Ambient deaf = {.name = "deaf", .sentence = "It hears nothing."};
  options_.ambients = {&deaf};
  EXPECT_EQ(run().ambients[0].runs.total, 2U * (1 + 4));
  options_.full = true;
  EXPECT_EQ(run().ambients[0].runs.total, 2U * (1 + 20));
}

}  // namespace
}  // namespace lastref::harness
