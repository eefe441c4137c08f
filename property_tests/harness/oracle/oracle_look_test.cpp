// oracle_look_test: what an oracle reports about its own checks: how much there was to check,
// whether that was more than nothing, and why it gave no judgement.
#include <cerrno>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/harness/oracle/oracle_story.hpp"

namespace lastref::harness {
namespace {

TEST_F(OracleTest, each_has_a_name_and_one_look_a_run) {
  const Outcome outcome = outcome_of(evidence_of(Story()));
  EXPECT_EQ(outcome.looks.size(), oracle_names().size());
  for (const std::string_view name : oracle_names()) {
    EXPECT_FALSE(name.empty());
    EXPECT_EQ(std::ranges::count(oracle_names(), name), 1) << name;
  }
}

TEST_F(OracleTest, an_empty_count_was_looked_at_and_is_nothing) {
  const Look nothing = look_of("refcount-exact", Story().counted(pid_of_root, 0));
  EXPECT_EQ(nothing.waiver, Waiver::none);
  EXPECT_EQ(nothing.filled, look_of("refcount-exact", Story()).filled);
}

TEST_F(OracleTest, a_count_that_is_held_is_something) {
  const Story story = Story().says(root, "register").counted(pid_of_root, 1);
  const Look look = look_of("refcount-exact", story);
  EXPECT_EQ(look, (Look{.seen = 1, .filled = 1}));
}

TEST_F(OracleTest, what_was_let_go_of_since_the_last_look_is_something) {
  const Story let_go = Story().says(root, "register").says(root, "release").counted(0, 0);
  EXPECT_EQ(look_of("refcount-exact", let_go), (Look{.seen = 1, .filled = 1}));
  EXPECT_EQ(look_of("refcount-exact", Story(let_go).counted(0, 0)), (Look{.seen = 2, .filled = 1}));
}

TEST_F(OracleTest, a_name_that_was_made_could_have_stayed) {
  const Look none = look_of("no-leak", Story().all_end());
  EXPECT_EQ(none, Look());
  const Story made = Story().crossed(root, Call::open, "/run/a.bin").with_mode(0600).all_end();
  EXPECT_EQ(look_of("no-leak", made), (Look{.seen = 1, .filled = 1}));
}

TEST_F(OracleTest, no_leak_says_why_nobody_could_clean_up_at_once) {
  const Story whole = Story().died(tracker, fact::killed).died(root, fact::killed);
  EXPECT_EQ(look_of("no-leak", whole).waiver, Waiver::last_tracker);
  EXPECT_EQ(look_of("no-leak at the next start", whole).waiver, Waiver::none);
  scenario_.leaves_to_the_next_start = true;
  EXPECT_EQ(look_of("no-leak", Story().all_end()).waiver, Waiver::next_start);
}

TEST_F(OracleTest, no_leak_is_waived_when_the_root_has_started_as_many_trackers_as_it_may) {
  constexpr std::uint16_t second = 3;
  constexpr std::uint16_t third = 4;
  Story two = Story().died(tracker, fact::killed).born(second, "tracker#2", 20);
  two.died(second, fact::killed);
  EXPECT_EQ(look_of("no-leak", Story(two).died(root, fact::ended)).waiver, Waiver::none);
  two.born(third, "tracker#3", 21);
  EXPECT_EQ(look_of("no-leak", Story(two).died(root, fact::ended)).waiver, Waiver::none);
  const Story three = Story(two).died(third, fact::killed).died(root, fact::ended);
  EXPECT_EQ(look_of("no-leak", three).waiver, Waiver::last_tracker);
  EXPECT_EQ(look_of("no-leak at the next start", three).waiver, Waiver::none);
}

TEST_F(OracleTest, what_judges_clean_runs_is_waived_in_others) {
  EXPECT_EQ(look_of("works", Story()).waiver, Waiver::none);
  plan_.seed = 7;
  EXPECT_EQ(look_of("works", Story()).waiver, Waiver::has_order);
  plan_.faults.resize(2);
  EXPECT_EQ(look_of("works", Story().fact(root, fact::fired, "kill_before")).waiver,
            Waiver::has_fault);
  EXPECT_EQ(look_of("error-surfaced", Story()).waiver, Waiver::two_faults);
  plan_.faults.front().kind = FaultKind::fail_always;
  EXPECT_EQ(look_of("refcount-exact", Story()).waiver, Waiver::fails_for_ever);
}

TEST(Waivers, have_a_sentence_each) {
  for (const std::string_view sentence : names_of(Waiver())) {
    EXPECT_FALSE(sentence.empty());
  }
}

}  // namespace
}  // namespace lastref::harness
