// hunt_state_test: the state of a hunt survives its file, and every other file is refused.
#include "harness/explore/hunt_state.hpp"

#include <ostream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace lastref::harness {
namespace {

HuntState some_state() {
  HuntState state{.hunt = 0xfedcba9876543210U, .turn = 1, .left_in_turn = 2, .given = 9};
  state.results = {
      .scenarios = {{.name = "toy/one", .runs = 5, .deviations = {.total = 4, .executed = 3}},
                    {.name = "toy/two", .runs = 3, .violations = 1, .seconds = 0.5}},
      .policies = {{.name = PolicyName::pct, .runs = 2, .new_orders = 1, .found = 1}},
      .violations = {{.scenario = "toy/two",
                      .claim = "a claim",
                      .seen = "\"it\"\n does not hold",
                      .fingerprint = "0123abcd",
                      .run = 7,
                      .repeats = true,
                      .replay = "lastref replay toy/two",
                      .switches = 2,
                      .last_crossings = {"root/open(a)#1 = 0"}}},
      .curve = {{.runs = 8, .seconds = 0.25, .orders = 2}},
      .runs = 8,
      .runs_with_findings = 1,
      .seconds = 1.5};
  state.scenarios = {{.is_known = true,
                      .deviations_given = 4,
                      .orders_of_deviations = 2,
                      .random_runs = 1,
                      .orders = {1, 0xffffffffffffffffU},
                      .fingerprints = {}},
                     {.random_runs = 2, .fingerprints = {"0123abcd"}}};
  state.results.scenarios[0].orders = 2;
  state.under_way = {
      {.number = 8, .scenario = 0, .is_deviation = true, .index = 3, .policy = PolicyName::pct}};
  return state;
}

TEST(HuntState, is_the_same_after_it_was_a_text) {
  const HuntState state = some_state();
  const auto read = parse_hunt_state(to_text(state));
  ASSERT_TRUE(read) << name_of(read.error());
  EXPECT_EQ(to_text(*read), to_text(state));
  EXPECT_EQ(read->scenarios, state.scenarios);
  EXPECT_EQ(read->under_way, state.under_way);
  EXPECT_EQ(read->results.violations.front().seen, state.results.violations.front().seen);
}

TEST(HuntState, is_refused_if_it_was_cut_anywhere) {
  const std::string text = to_text(some_state());
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    const auto read = parse_hunt_state(std::string_view(text).substr(0, size));
    ASSERT_FALSE(read) << size;
    ASSERT_EQ(read.error(), HuntStateError::not_a_state) << size;
  }
}

struct Change {
  const char* from;
  const char* to;

  friend void PrintTo(const Change& change, std::ostream* out) { *out << change.to; }
};

class ChangedState : public testing::TestWithParam<Change> {};

TEST_P(ChangedState, is_refused) {
  std::string text = to_text(some_state());
  const std::size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, std::string(GetParam().from).size(), GetParam().to);
  const auto read = parse_hunt_state(text);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(), HuntStateError::invalid);
}

const Change changes[] = {
    {"\"turn\": 1", "\"turn\": 2"},
    {"\"turn\": 1", "\"turn\": -1"},
    {"\"turn\": 1", "\"turn\": \"1\""},
    {"\"turn\": 1", "\"turns\": 1"},
    {"\"given\": 9", "\"given\": 8"},
    {"\"given\": 9", "\"given\": 18446744073709551615"},
    {"\"given\": 9", "\"given\": 9.5"},
    {"\"hunt\": 18364758544493064720", "\"hunt\": null"},
    {"\"policy\": \"pct\"", "\"policy\": \"none\""},
    {"\"policy\": \"pct\"", "\"policy\": \"pos\""},
    {"\"index\": 3", "\"index\": 4"},
    {"\"scenario\": 0", "\"scenario\": 1"},
    {"\"scenario\": 0", "\"scenario\": 2"},
    {"\"deviations_given\": 4", "\"deviations_given\": 5"},
    {"\"orders_of_deviations\": 2", "\"orders_of_deviations\": 3"},
    {"18446744073709551615", "1"},
    {"18446744073709551615", "-1"},
    {"\"is_known\": true", "\"is_known\": 1"},
    {"\"repeats\": true", "\"repeats\": []"},
    {"\"curve\": [", "\"curve\": {}, \"other\": ["},
    {"\"claim\": \"a claim\"", "\"claim\": {}"},
    {"\"scenarios\": [", "\"scenarios\": [7, "},
};
INSTANTIATE_TEST_SUITE_P(In, ChangedState, testing::ValuesIn(changes));

TEST(HuntState, of_another_title_is_not_one) {
  for (const char* text : {"", "dear diary\n", "{}", "[]", "7", "{\"title\": 7}"}) {
    const auto read = parse_hunt_state(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error(), HuntStateError::not_a_state) << text;
  }
}

TEST(HuntState, belongs_to_one_hunt) {
  const Scenario one{.name = "toy/one", .sentence = "", .rows = {}, .roles = {}};
  const Scenario two{.name = "toy/two", .sentence = "", .rows = {}, .roles = {}};
  const HuntOptions options{.scenarios = {&one, &two}, .policies = {PolicyName::pct}};
  HuntState state = some_state();
  state.hunt = identity_of(options);
  EXPECT_TRUE(parse_hunt_state(to_text(state), options));
  HuntOptions others[] = {options, options, options, options, options, options};
  others[0].seed = 2;
  others[1].scenarios = {&two, &one};
  others[2].policies = {};
  others[3].build = 1;
  others[4].has_faults = false;
  others[5].parameters = {{.name = "workers", .value = "3"}};
  for (const HuntOptions& other : others) {
    const auto read = parse_hunt_state(to_text(state), other);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error(), HuntStateError::other_hunt);
  }
  state.results.scenarios[1].name = "toy/three";
  EXPECT_FALSE(parse_hunt_state(to_text(state), options));
}

}  // namespace
}  // namespace lastref::harness
