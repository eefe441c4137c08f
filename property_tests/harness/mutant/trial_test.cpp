// Trials: the end of a gate or ctest shows whether it saw a bug, or did not search to the end.
#include "harness/mutant/trial.hpp"

#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/support/transcript.hpp"

namespace lastref::harness {
namespace {

const std::string violation =
    R"({"exit": 1, "runs": 12, "violations": [{"scenario": "a/b", "claim": "no leak",
        "seen": "x", "replay": "lastref replay a/b"}]})";

TEST(GateTrial, that_found_something_saw_it) {
  const Trial trial = judge_gate({.code = 1, .said = "", .report = violation});
  EXPECT_EQ(trial.sight, Sight::saw);
  EXPECT_EQ(trial.scenario, "a/b");
  EXPECT_EQ(trial.claim, "no leak");
  EXPECT_EQ(trial.replay, "lastref replay a/b");
  EXPECT_EQ(trial.runs, 12U);
}

TEST(GateTrial, says_of_what_did_not_repeat_that_it_was_seen_once) {
  const Trial trial = judge_gate({.code = 4, .said = "", .report = violation});
  EXPECT_EQ(trial.sight, Sight::saw);
  EXPECT_THAT(trial.seen, testing::HasSubstr("x"));
  pretend::expect_transcript(trial.seen);
}

TEST(GateTrial, that_is_clean_looked_at_everything) {
  const Trial trial = judge_gate({.code = 0, .said = "", .report = R"({"runs": 9})"});
  EXPECT_EQ(trial.sight, Sight::nothing);
  EXPECT_EQ(trial.runs, 9U);
}

TEST(GateTrial, that_ended_early_did_not_look_at_everything) {
  const Trial trial = judge_gate(
      {.code = 3, .said = "", .report = R"({"runs": 9, "verdict": "12 of 40 faults are left"})"});
  EXPECT_EQ(trial.sight, Sight::incomplete);
  EXPECT_EQ(trial.seen, "12 of 40 faults are left");
  EXPECT_EQ(trial.runs, 9U);
}

TEST(GateTrial, that_was_used_wrongly_could_not_run) {
  const Trial trial = judge_gate({.code = 2, .said = "usage\ngate has no option --x\n\n"});
  EXPECT_EQ(trial.sight, Sight::cannot);
  EXPECT_EQ(trial.seen, "gate has no option --x");
}

TEST(GateTrial, that_died_or_hung_saw_it_all_the_same) {
  const std::string died = judge_gate({.code = 134, .said = ""}).claim;
  EXPECT_EQ(judge_gate({.code = std::nullopt, .said = ""}).claim, died);
  pretend::expect_transcript(died);
  EXPECT_EQ(judge_gate({.code = 134, .said = "x\nassertion failed\n"}).seen, "assertion failed");
  pretend::expect_transcript(judge_gate({.code = 124, .said = ""}).claim);
  EXPECT_TRUE(judge_gate({.code = 124, .said = ""}).found());
}

TEST(BuildProgress, is_that_of_the_last_step) {
  EXPECT_EQ(percent_built(""), std::nullopt);
  EXPECT_EQ(percent_built("[10/40] Building a\n"), 25);
  EXPECT_EQ(percent_built("[1/3] Building a\nwarning: [2]\n[2/3] Linking b"), 66);
  EXPECT_EQ(percent_built("[3/3] Linking b\n"), 100);
  for (const char* said : {"[", "[1", "[1/", "[/2]", "[2/1]", "[1/0]", "[0/0]", "x\n[a/b]"}) {
    EXPECT_EQ(percent_built(said), std::nullopt) << said;
  }
}

TEST(TestTrial, names_the_first_that_failed) {
  const Trial trial = judge_tests({.code = 8,
                                   .said = "The following tests FAILED:\n"
                                           "\t  3 - A.one_T9 (Failed)\n\t  4 - B.two (Timeout)\n"});
  EXPECT_EQ(trial.sight, Sight::saw);
  EXPECT_EQ(trial.scenario, "A.one_T9");
  EXPECT_EQ(trial.failed_tests, 2U);
  EXPECT_EQ(trial.replay, "ctest --preset ci -R 'A.one_T9'");
}

TEST(TestTrial, without_a_test_could_not_run) {
  const Trial trial = judge_tests({.code = 8, .said = "No tests were found!!!\n"});
  EXPECT_EQ(trial.sight, Sight::cannot);
  EXPECT_EQ(trial.seen, "No tests were found!!!");
}

TEST(TestTrial, of_which_all_pass_saw_nothing) {
  EXPECT_EQ(judge_tests({.code = 0, .said = "100% tests passed\n"}).sight, Sight::nothing);
}

}  // namespace
}  // namespace lastref::harness
