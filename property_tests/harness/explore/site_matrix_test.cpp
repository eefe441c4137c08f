// site_matrix_test: a few cells represent all faults that hit the program at one site in one way,
// and no site is without a cell.
#include "harness/explore/site_matrix.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "harness/explore/matrix.hpp"

namespace lastref::harness {
namespace {

Crossing called_from(std::uint32_t callers,
                     const std::string& role = "root",
                     const std::string& call = "now",
                     std::uint32_t k = 1) {
  Crossing made{.site = {.role = role, .name = call, .object = "", .k = k}};
  made.callers = callers;
  return made;
}

ScenarioMatrix matrix_with(std::vector<Crossing> crossings) {
  return scenario_matrix_of(crossings);
}

/// The number of faults of "now", at one site.
std::size_t faults_of_now() {
  return matrix_with({called_from(7)}).faults.size();
}
/// The number of cells that represent all faults.
std::size_t cells_of_now() {
  std::size_t cells = 0;
  for (const Fault& fault : matrix_with({called_from(7)}).faults) {
    cells += cells_for(fault.kind);
  }
  return cells;
}
const std::size_t most_cells = cells_for(FaultKind::kill_before);

std::set<std::size_t> scenarios_of(std::span<const Cell> cells) {
  std::set<std::size_t> scenarios;
  for (const Cell& cell : cells) {
    scenarios.insert(cell.scenario);
  }
  return scenarios;
}

TEST(SiteMatrix, a_moment_of_many_scenarios_is_struck_in_some_of_them) {
  const std::vector<ScenarioMatrix> matrices(50, matrix_with({called_from(7)}));
  ASSERT_EQ(all_cells_of(matrices).size(), 50 * faults_of_now());
  EXPECT_EQ(site_matrix_of(matrices, 1).size(), cells_of_now());
}

TEST(SiteMatrix, it_is_struck_in_as_many_scenarios_as_there_are) {
  std::vector<Crossing> rounds;
  for (std::uint32_t k = 1; k <= 100; ++k) {
    rounds.push_back(called_from(7, "root", "now", k));
  }
  std::vector<ScenarioMatrix> matrices(most_cells, matrix_with({called_from(7)}));
  matrices.front() = matrix_with(rounds);
  const std::vector<Cell> cells = site_matrix_of(matrices, 1);
  EXPECT_EQ(cells.size(), cells_of_now());
  EXPECT_EQ(scenarios_of(cells).size(), most_cells);
}

TEST(SiteMatrix, where_there_are_few_scenarios_rounds_of_a_loop_stand_in) {
  std::vector<Crossing> rounds;
  for (std::uint32_t k = 1; k <= 100; ++k) {
    rounds.push_back(called_from(7, "root", "now", k));
  }
  const std::vector matrices{matrix_with(rounds)};
  EXPECT_EQ(site_matrix_of(matrices, 1).size(), cells_of_now());
}

TEST(SiteMatrix, other_callers_roles_and_calls_are_other_moments) {
  const std::vector matrices{matrix_with({called_from(7),
                                          called_from(8, "root", "now", 2),
                                          called_from(7, "worker"),
                                          called_from(7, "root", "entropy")})};
  EXPECT_EQ(site_matrix_of(matrices, 1), all_cells_of(matrices));
}

TEST(SiteMatrix, incarnations_of_a_role_share_their_moments) {
  std::vector<Crossing> crossings;
  for (std::size_t at = 1; at <= 2 * most_cells; ++at) {
    crossings.push_back(called_from(7, at == 1 ? "worker" : "worker#" + std::to_string(at)));
  }
  const std::vector matrices{matrix_with(crossings)};
  EXPECT_EQ(site_matrix_of(matrices, 1).size(), cells_of_now());
}

TEST(SiteMatrix, a_cell_of_unknown_callers_stands_for_itself) {
  const std::vector<ScenarioMatrix> matrices(50, matrix_with({called_from(0)}));
  EXPECT_EQ(site_matrix_of(matrices, 1), all_cells_of(matrices));
}

TEST(SiteMatrix, another_seed_looks_at_other_scenarios) {
  const std::vector<ScenarioMatrix> matrices(50, matrix_with({called_from(7)}));
  EXPECT_EQ(site_matrix_of(matrices, 1), site_matrix_of(matrices, 1));
  EXPECT_NE(site_matrix_of(matrices, 1), site_matrix_of(matrices, 2));
}

using SiteFault = std::tuple<std::string, std::string, std::uint32_t, FaultKind, int, bool>;

std::map<SiteFault, std::size_t> site_faults_of(std::span<const ScenarioMatrix> matrices,
                                                std::span<const Cell> cells) {
  std::map<SiteFault, std::size_t> site_faults;
  for (const Cell& cell : cells) {
    const Fault& fault = matrices[cell.scenario].faults[cell.fault];
    ++site_faults[{std::string(base_of(fault.site.role)),
                   fault.site.name,
                   matrices[cell.scenario].callers.at(fault.site),
                   fault.kind,
                   fault.error,
                   fault.whole_tree}];
  }
  return site_faults;
}

TEST(SiteMatrix, a_death_is_tried_in_more_places_than_an_error) {
  EXPECT_GT(cells_for(FaultKind::kill_amid), cells_for(FaultKind::fail_once));
  EXPECT_GT(cells_for(FaultKind::fail_once), 1U);
}

RC_GTEST_PROP(SiteMatrix, every_strike_has_as_many_cells_as_may_stand_for_it, ()) {
  std::vector<ScenarioMatrix> matrices(*rc::gen::inRange<std::size_t>(1, 12));
  for (ScenarioMatrix& matrix : matrices) {
    std::vector<Crossing> crossings;
    const auto size = *rc::gen::inRange<std::uint32_t>(0, 12);
    for (std::uint32_t k = 1; k <= size; ++k) {
      crossings.push_back(called_from(*rc::gen::inRange(1U, 6U),
                                      *rc::gen::element<std::string>("root", "tracker", "worker#2"),
                                      *rc::gen::element<std::string>("now", "entropy"),
                                      k));
    }
    matrix = scenario_matrix_of(crossings);
  }
  const std::vector<Cell> all = all_cells_of(matrices);
  const std::vector<Cell> site = site_matrix_of(matrices, *rc::gen::arbitrary<std::uint64_t>());
  RC_ASSERT(std::ranges::includes(all, site));
  RC_ASSERT(std::ranges::adjacent_find(site) == site.end());
  auto expected = site_faults_of(matrices, all);
  for (auto& [site_fault, count] : expected) {
    count = std::min(count, cells_for(std::get<FaultKind>(site_fault)));
  }
  RC_ASSERT(site_faults_of(matrices, site) == expected);
}

}  // namespace
}  // namespace lastref::harness
