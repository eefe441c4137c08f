// Verdicts: the text reports for each hunter separately what it found, and how often.
#include "harness/mutant/verdict.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "property_tests/support/transcript.hpp"

namespace lastref::harness {
namespace {

using testing::HasSubstr;

constexpr std::array asked = {Hunter::sim, Hunter::row, Hunter::full};

Trial trial_with(Sight sight, std::string scenario = {}) {
  Trial trial;
  trial.sight = sight;
  trial.scenario = std::move(scenario);
  return trial;
}

Verdict verdict_on(std::string name, std::map<Hunter, std::vector<Trial>> trials) {
  Verdict verdict;
  verdict.mutant = {.name = std::move(name), .row = "T9", .origin = "o", .claim = "c", .files = {}};
  verdict.trials = std::move(trials);
  return verdict;
}

std::vector<Verdict> three() {
  std::vector<Verdict> verdicts = {
      verdict_on("one", {{Hunter::sim, {trial_with(Sight::saw, "a/b")}}}),
      verdict_on("two",
                 {{Hunter::sim, {trial_with(Sight::nothing)}},
                  {Hunter::row, {trial_with(Sight::cannot)}},
                  {Hunter::full, {trial_with(Sight::incomplete)}}}),
      verdict_on("three", {})};
  verdicts.back().builds = false;
  return verdicts;
}

TEST(Verdict, is_a_line_with_a_word_of_each_hunter) {
  std::string lines;
  for (const Verdict& verdict : three()) {
    lines += text_of(verdict, asked);
  }
  EXPECT_EQ(std::ranges::count(lines, '\n'), 4);
  pretend::expect_transcript(lines);
}

TEST(Verdict, says_who_saw_it_where) {
  EXPECT_THAT(text_of(three()[0], asked), HasSubstr("sim: a/b\n"));
}

TEST(Verdict, is_counted_for_each_hunter_and_for_all) {
  pretend::expect_transcript(totals_of(three(), asked));
}

TEST(Verdict, is_told_to_programs_too) {
  const auto json = nlohmann::json::parse(to_json(three(), asked));
  EXPECT_EQ(json["seen"], 1);
  EXPECT_EQ(json["mutants"][0]["hunters"]["sim"]["sight"], "saw");
  EXPECT_EQ(json["mutants"][1]["hunters"]["full"]["sight"], "incomplete");
  EXPECT_EQ(json["mutants"][2]["builds"], false);
  EXPECT_EQ(json["hunters"]["sim"]["asked"], 2);
  EXPECT_EQ(json["hunters"]["full"]["incomplete"], 1);
}

Verdict with_five_seeds() {
  std::vector<Trial> trials(5);
  for (const std::size_t each : {1U, 3U, 4U}) {
    trials[each] = trial_with(Sight::saw, "a/b");
    trials[each].runs = each * 100;
    trials[each].seconds = static_cast<double>(each) / 2;
  }
  return verdict_on("one", {{Hunter::hunt, std::move(trials)}});
}

TEST(Verdict, of_several_seeds_is_how_many_saw_it_and_how_soon) {
  const std::array hunters = {Hunter::hunt};
  const Verdict verdict = with_five_seeds();
  EXPECT_TRUE(verdict.is_seen());
  EXPECT_EQ(total_of(Hunter::hunt, std::span(&verdict, 1)).saw, 1U);
  const auto json = nlohmann::json::parse(to_json(std::span(&verdict, 1), hunters));
  EXPECT_EQ(json["mutants"][0]["hunters"]["hunt"]["seeds"].size(), 5U);
  EXPECT_EQ(json["mutants"][0]["hunters"]["hunt"]["seeds"][3]["runs"], 300);
  pretend::expect_transcript(text_of(verdict, hunters));
}

TEST(Verdict, of_what_does_not_build_is_that_nobody_saw_it) {
  EXPECT_FALSE(three()[2].is_seen());
  EXPECT_TRUE(three()[0].is_seen());
}

}  // namespace
}  // namespace lastref::harness
