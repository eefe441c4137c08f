// fault_draw_test: each moment of the program has its share of the drawn faults.
#include "harness/explore/fault_draw.hpp"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace lastref::harness {
namespace {

ScenarioMatrix matrix_with(const std::vector<std::string>& calls) {
  std::vector<Crossing> crossings;
  std::map<std::string, std::uint32_t> times;
  for (const std::string& call : calls) {
    crossings.push_back({.site = {.role = "root", .name = call, .object = "", .k = ++times[call]}});
    crossings.back().callers = 7;
  }
  return scenario_matrix_of(crossings);
}

/// How often the faults of a number of draws are at each call.
std::map<std::string, int> drawn_at(const FaultDraw& draw, std::size_t scenario) {
  std::map<std::string, int> times;
  std::uint64_t chance = 1;
  for (int each = 0; each < 3000; ++each) {
    ++times[draw.draw(scenario, chance)->site.name];
  }
  return times;
}

TEST(FaultDraw, draws_a_moment_more_often_that_few_scenarios_have) {
  FaultDraw draw(4);
  draw.learn(0, matrix_with({"now", "fill_random"}));
  draw.learn(1, matrix_with({"now"}));
  draw.learn(2, matrix_with({"now"}));
  const std::map<std::string, int> times = drawn_at(draw, 0);
  EXPECT_GT(times.at("fill_random"), 2 * times.at("now"));
  EXPECT_EQ(drawn_at(draw, 1), (std::map<std::string, int>{{"now", 3000}}));
}

TEST(FaultDraw, draws_rounds_of_a_loop_as_often_as_one_call) {
  FaultDraw draw(1);
  std::vector<std::string> calls(50, "now");
  calls.emplace_back("fill_random");
  draw.learn(0, matrix_with(calls));
  const std::map<std::string, int> times = drawn_at(draw, 0);
  EXPECT_LT(times.at("now"), 2 * times.at("fill_random"));
}

TEST(FaultDraw, draws_every_fault_sooner_or_later) {
  FaultDraw draw(1);
  const ScenarioMatrix matrix = matrix_with({"now", "now", "open", "fill_random"});
  draw.learn(0, matrix);
  std::uint64_t chance = 3;
  std::set<Fault> drawn;
  for (int each = 0; each < 3000; ++each) {
    drawn.insert(*draw.draw(0, chance));
  }
  EXPECT_EQ(drawn, std::set<Fault>(matrix.faults.begin(), matrix.faults.end()));
}

TEST(FaultDraw, has_none_for_a_scenario_without_faults) {
  FaultDraw draw(2);
  draw.learn(1, matrix_with({"now"}));
  std::uint64_t chance = 1;
  EXPECT_FALSE(draw.draw(0, chance));
}

}  // namespace
}  // namespace lastref::harness
