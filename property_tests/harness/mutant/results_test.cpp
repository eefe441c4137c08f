// Results: written results are read again, in spite of lines that a kill has cut.
#include "harness/mutant/results.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "property_tests/support/fresh_folder.hpp"

namespace lastref::harness {
namespace {

Trial any_trial() {
  Trial trial;
  trial.sight = *rc::gen::element(Sight::saw, Sight::nothing, Sight::incomplete, Sight::cannot);
  const auto word = rc::gen::container<std::string>(rc::gen::inRange(' ', '\x7f'));
  trial.scenario = *word;
  trial.claim = *word;
  trial.seen = *word;
  trial.replay = *word;
  trial.runs = *rc::gen::inRange<std::size_t>(0, 1000000);
  trial.failed_tests = *rc::gen::inRange<std::size_t>(0, 1000);
  trial.seconds = *rc::gen::inRange(0, 4000) / 4.0;
  return trial;
}

RC_GTEST_PROP(ResultProperties, a_line_is_read_as_it_was_written, ()) {
  const Trial trial = any_trial();
  const auto again = result_of(line_of({"key", "mutant", "sim", trial}));
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->key == "key");
  RC_ASSERT(again->mutant == "mutant");
  RC_ASSERT(again->hunter == "sim");
  RC_ASSERT(again->trial.sight == trial.sight);
  RC_ASSERT(again->trial.scenario == trial.scenario);
  RC_ASSERT(again->trial.claim == trial.claim);
  RC_ASSERT(again->trial.seen == trial.seen);
  RC_ASSERT(again->trial.replay == trial.replay);
  RC_ASSERT(again->trial.runs == trial.runs);
  RC_ASSERT(again->trial.failed_tests == trial.failed_tests);
  RC_ASSERT(again->trial.seconds == trial.seconds);
}

RC_GTEST_PROP(ResultProperties, a_line_that_was_cut_is_no_result, ()) {
  const std::string line = line_of({"key", "mutant", "sim", any_trial()});
  const auto size = *rc::gen::inRange<std::size_t>(0, line.size());
  RC_ASSERT(!result_of(line.substr(0, size)).has_value());
}

TEST(Results, that_another_type_was_written_for_are_none) {
  EXPECT_FALSE(result_of("[]"));
  EXPECT_FALSE(result_of("{\"key\": 1}"));
  std::string line = line_of({"key", "mutant", "sim", {}});
  EXPECT_TRUE(result_of(line));
  line.replace(line.find("nothing"), 7, "nowhere");
  EXPECT_FALSE(result_of(line));
}

TEST(Results, are_known_by_the_sources_the_patch_and_the_command) {
  const std::string key = key_of(1, "patch", "command");
  EXPECT_EQ(key, key_of(1, "patch", "command"));
  EXPECT_NE(key, key_of(2, "patch", "command"));
  EXPECT_NE(key, key_of(1, "patcher", "command"));
  EXPECT_NE(key, key_of(1, "patch", "commander"));
}

TEST(Results, outlast_a_kill_in_the_middle_of_a_line) {
  const pretend::FreshFolder folder;
  const std::string path = folder.path() + "/results.jsonl";
  Trial seen;
  seen.sight = Sight::saw;
  {
    Results results;
    ASSERT_TRUE(results.open(path));
    ASSERT_TRUE(results.add({"one", "m", "sim", seen}));
  }
  std::ofstream(path, std::ios::app) << "{\"key\": \"tw";
  {
    Results results;
    ASSERT_TRUE(results.open(path));
    ASSERT_NE(results.find("one"), nullptr);
    EXPECT_TRUE(results.find("one")->found());
    EXPECT_EQ(results.find("tw"), nullptr);
    ASSERT_TRUE(results.add({"three", "m", "sim", {}}));
  }
  Results results;
  ASSERT_TRUE(results.open(path));
  EXPECT_NE(results.find("one"), nullptr);
  EXPECT_NE(results.find("three"), nullptr);
  std::filesystem::remove(path);
}

TEST(Results, that_cannot_be_written_are_an_error) {
  Results results;
  EXPECT_FALSE(results.open("/nowhere/results.jsonl"));
}

}  // namespace
}  // namespace lastref::harness
