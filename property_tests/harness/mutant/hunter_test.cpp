// Hunters: the command of each of them, and their order.
#include "harness/mutant/hunter.hpp"

#include <gtest/gtest.h>

namespace lastref::harness {
namespace {

const HunterOptions of_row = {
    .row = "T9", .tests = "_T9([_/]|$)", .budget = 20, .seed = 3, .has_full = true};

TEST(Hunters, have_names_that_find_them) {
  for (const HunterRow& row : all_hunters()) {
    EXPECT_EQ(hunter_named(row.name), row.hunter);
    EXPECT_EQ(name_of(row.hunter), row.name);
  }
  EXPECT_EQ(hunter_named("nobody"), std::nullopt);
}

TEST(Hunters, are_asked_in_the_order_of_what_they_cost) {
  EXPECT_EQ(all_hunters().front().hunter, Hunter::sim);
  EXPECT_EQ(all_hunters().back().hunter, Hunter::full);
}

TEST(Hunters, are_gates_of_all_scenarios) {
  EXPECT_EQ(command_of(Hunter::sim, of_row),
            "build/ci/bin/lastref gate --world sim --random 1000 --first --seed 3 --budget 20");
  EXPECT_EQ(command_of(Hunter::site, of_row),
            "build/ci/bin/lastref gate --first --seed 3 --budget 20");
  EXPECT_EQ(command_of(Hunter::full, of_row),
            "build/ci/bin/lastref gate --full --first --seed 3 --budget 20");
}

TEST(Hunters, are_a_hunt_that_ends_even_without_a_budget) {
  EXPECT_EQ(command_of(Hunter::hunt, of_row),
            "build/ci/bin/lastref hunt --first --seed 3 --budget 20");
  EXPECT_EQ(command_of(Hunter::hunt, {}), "build/ci/bin/lastref hunt --first --seed 1 --budget 60");
  EXPECT_EQ(unplanted_command_of(Hunter::hunt, of_row), command_of(Hunter::hunt, of_row));
  EXPECT_EQ(command_of(Hunter::hunt, {.policies = {"pos", "surw"}}),
            "build/ci/bin/lastref hunt --policy pos --policy surw --first --seed 1 --budget 60");
  EXPECT_TRUE(is_gate(Hunter::hunt));
}

TEST(Hunters, have_all_the_time_that_they_need_if_there_is_no_budget) {
  EXPECT_EQ(command_of(Hunter::site, {}), "build/ci/bin/lastref gate --first --seed 1");
}

TEST(Hunters, of_sites_are_not_there_where_the_gate_goes_through_every_crossing) {
  const HunterOptions old = {.has_full = false};
  EXPECT_EQ(command_of(Hunter::site, old), std::nullopt);
  EXPECT_EQ(command_of(Hunter::full, old), "build/ci/bin/lastref gate --first --seed 1");
}

TEST(Hunters, are_tests_of_the_row_and_all_others) {
  EXPECT_EQ(command_of(Hunter::row, of_row),
            "ctest --preset ci --stop-on-failure -R '_T9([_/]|$)'");
  EXPECT_EQ(command_of(Hunter::tests, of_row),
            "ctest --preset ci --stop-on-failure -E '_T9([_/]|$)' -LE 'lint|package|bench'");
}

TEST(Hunters, try_once_for_all_rows_what_they_do_where_nothing_is_planted) {
  EXPECT_EQ(unplanted_command_of(Hunter::tests, of_row), unplanted_command_of(Hunter::tests, {}));
  EXPECT_EQ(unplanted_command_of(Hunter::row, of_row), command_of(Hunter::row, of_row));
  EXPECT_EQ(unplanted_command_of(Hunter::sim, of_row), command_of(Hunter::sim, of_row));
}

TEST(Hunters, read_from_its_help_which_gate_a_build_has) {
  EXPECT_TRUE(names_full("  --full    Every crossing\n"));
  EXPECT_FALSE(names_full("  --first   Stop\n"));
}

}  // namespace
}  // namespace lastref::harness
