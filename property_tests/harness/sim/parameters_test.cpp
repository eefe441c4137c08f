// parameters_test: the parameters that the scenarios of the catalog declare.
#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "harness/scenario/scenario.hpp"
#include "harness/sim/sim_world.hpp"

namespace lastref::harness {
namespace {

bool is_word(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char sign) {
    return std::isalnum(sign) != 0 || sign == '_' || sign == '-';
  });
}

TEST(ParametersOfScenarios, have_several_values_and_the_usual_one_is_one_of_them) {
  for (const Scenario& scenario : catalog()) {
    std::set<std::string> names;
    for (const DeclaredParameter& each : scenario.parameters) {
      const std::string what = scenario.name + ' ' + each.name;
      EXPECT_TRUE(is_word(each.name)) << what;
      EXPECT_TRUE(names.insert(each.name).second) << what;
      EXPECT_NE(each.value_named(each.usual), nullptr) << what;
      EXPECT_GT(each.values.size(), 1U) << what;
      for (const auto& value : each.values) {
        EXPECT_TRUE(is_word(value.text)) << what << '=' << value.text;
      }
    }
  }
}

/// The body reads only what is declared (Stage::value asserts it), and what is declared has an
/// effect: so what is declared is what is used. A journal has no sizes, so not every value of a
/// size has one of its own.
TEST(ParametersOfScenarios, change_what_a_scenario_does_and_all_values_are_clean) {
  std::size_t scenarios = 0;
  for (const Scenario& scenario : catalog()) {
    scenarios += scenario.parameters.empty() ? 0U : 1U;
    for (const DeclaredParameter& each : scenario.parameters) {
      ASSERT_FALSE(scenario.kernel_only) << scenario.name;
      std::set<std::string> journals;
      for (const auto& value : each.values) {
        const std::string what = scenario.name + " --set " + each.name + '=' + value.text;
        Plan plan;
        plan.parameters = unusual(scenario.parameters, {{.name = each.name, .value = value.text}});
        SimWorld world;
        world.keep_journal(true);
        const Outcome outcome = world.run(scenario, plan);
        for (const Finding& finding : outcome.findings) {
          ADD_FAILURE() << what << ": " << finding.claim << ": " << finding.seen;
        }
        journals.insert(world.journal());
      }
      EXPECT_GT(journals.size(), 1U) << scenario.name << ' ' << each.name;
    }
  }
  EXPECT_GE(scenarios, 25U);
}

}  // namespace
}  // namespace lastref::harness
