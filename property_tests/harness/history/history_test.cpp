// history_test: every way in which a history can be wrong, planted, and the finding that reports
// it.
#include "harness/history/history.hpp"

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/history/history_text.hpp"
#include "property_tests/harness/history/search.hpp"
#include "property_tests/support/printing.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::harness::oracle {
namespace {

struct Planted {
  const char* name;
  const char* text;
};

void PrintTo(const Planted& planted, std::ostream* out) {
  *out << planted.name;
}

std::string seen_in(const History& history) {
  std::string seen;
  for (const Finding& finding : linearizable(history)) {
    EXPECT_TRUE(finding.claim.starts_with("linearizable: ")) << finding.claim;
    seen += seen.empty() ? "" : "\n";
    seen += finding.seen;
  }
  return seen;
}

class WrongHistory : public testing::TestWithParam<Planted> {};

TEST_P(WrongHistory, raises_its_findings_and_no_other) {
  const auto history = parse_history(GetParam().text);
  ASSERT_TRUE(history) << describe(history.error());
  EXPECT_FALSE(pretend::has_lawful_order(*history));
  const std::string seen = seen_in(*history);
  EXPECT_NE(seen, "");
  pretend::expect_transcript(seen);
}

class LawfulHistory : public testing::TestWithParam<Planted> {};

TEST_P(LawfulHistory, raises_no_finding) {
  const auto history = parse_history(GetParam().text);
  ASSERT_TRUE(history) << describe(history.error());
  EXPECT_TRUE(pretend::has_lawful_order(*history));
  EXPECT_EQ(seen_in(*history), "");
}

const Planted wrong_histories[] = {
    {"two_puts_come_back_true", "[1..2] a put 3 0xa = true\n[3..4] b put 3 0xb = true"},
    {"two_values_are_seen",
     "[1..] a put 3 0xa\n[1..] b put 3 0xb\n[3..4] c get 3 = 0xa\n[3..4] d get 3 = 0xb"},
    {"another_value_is_seen_than_was_taken",
     "[1..9] a put 3 0xa = true\n[1..] b put 3 0xb\n[2..4] c get 3 = 0xb"},
    {"a_value_nobody_put", "[1..] a put 3 0xa\n[1..] a put 4 0xb\n[5..6] c get 3 = 0xb"},
    {"a_value_whose_put_came_back_false",
     "refusals at_any_time\n[1..2] a put 3 0xa = false\n[5..6] c get 3 = 0xa"},
    {"a_value_goes_after_it_was_seen",
     "[1..] a put 3 0xa\n[9..12] b get 3 = 0xa\n[17..19] c get 3 = nothing"},
    {"a_value_is_not_there_after_its_put", "[1..4] a put 3 0xa = true\n[5..6] b get 3 = nothing"},
    {"a_failed_put_takes_effect_after_its_return",
     "[1..4] a put 3 0xa = error\n[5..6] b get 3 = nothing\n[7..8] b get 3 = 0xa"},
    {"a_value_is_seen_before_its_put", "[1..2] b get 3 = 0xa\n[3..] a put 3 0xa"},
    {"no_put_of_several_was_at_the_right_time",
     "[1..2] a put 3 0xa = error\n[3..4] b get 3 = nothing\n[5..6] b get 3 = 0xa\n[7..] c put 3 "
     "0xa"},
    {"a_put_finds_a_value_that_is_still_to_come",
     "refusals at_a_limit\n[1..2] a put 3 0xa = false\n[3..4] b put 3 0xb = true"},
    {"a_value_goes_between_two_that_found_it",
     "[1..9] b put 3 0xb = true\n[1..2] a put 3 0xa = false\n[3..4] c get 3 = nothing"},
    {"a_value_goes_between_a_put_and_a_get_that_found_it",
     "[1..] b put 3 0xb\n[1..2] a put 3 0xa = false\n[3..4] c get 3 = nothing\n"
     "[5..6] c get 3 = 0xb"},
    {"a_put_is_refused_alone", "[1..2] a put 3 0xa = false"},
    {"a_put_is_refused_before_another_begins", "[1..2] a put 3 0xa = false\n[3..] b put 3 0xb"},
    {"a_put_is_refused_and_then_nothing_is_there",
     "[1..] b put 3 0xb\n[1..2] a put 3 0xa = false\n[3..4] c get 3 = nothing"},
    {"a_put_is_refused_though_the_other_one_failed",
     "[1..2] b put 3 0xb = error\n[3..4] c get 3 = nothing\n[3..5] a put 3 0xa = false"},
    {"a_put_is_refused_before_the_freeze",
     "[1..2] a put 3 0xa = false\n[3..4] r freeze = true\n[5..6] a put 3 0xa = false"},
    {"a_freeze_that_did_not_freeze_excuses_nobody",
     "[1..2] r freeze = false\n[3..4] a put 3 0xa = false"},
    {"a_put_comes_back_true_after_the_freeze", "[1..2] r freeze = true\n[3..4] a put 3 0xa = true"},
    {"a_put_takes_effect_after_the_freeze",
     "[1..9] a put 3 0xa = true\n[2..3] r freeze = true\n[4..5] b get 3 = nothing"},
    {"a_put_of_the_dead_takes_effect_after_the_freeze",
     "[2..3] r freeze = true\n[4..] a put 3 0xa\n[6..7] b get 3 = 0xa"},
    {"a_freeze_at_any_time_is_still_one",
     "refusals at_any_time\n[1..2] r freeze = true\n[3..4] a put 3 0xa = true"},
    {"one_slot_is_frozen_and_another_takes",
     "[1..9] r freeze = true\n[2..3] a put 3 0xa = false\n[4..5] b put 7 0xb = true"},
    {"a_limit_freezes_for_all",
     "refusals at_a_limit\n[2..3] a put 3 0xa = false\n[4..5] b put 7 0xb = true"},
    {"no_freeze_between_one_that_takes_and_one_that_refuses",
     "[1..2] r freeze = error\n[3..4] b put 7 0xb = true\n[3..5] a put 3 0xa = false\n"
     "[6..] r freeze"},
    {"two_slots_are_wrong",
     "[1..2] a get 9 = 0xa\n[1..2] a get 2 = 0xffffffffffffffff\n[1..2] a get 5 = nothing"},
};

INSTANTIATE_TEST_SUITE_P(Wrong,
                         WrongHistory,
                         testing::ValuesIn(wrong_histories),
                         [](const auto& each) { return each.param.name; });

const Planted lawful_histories[] = {
    {"of_nothing", ""},
    {"an_empty_slot_is_empty", "[1..2] a get 3 = nothing\n[3..4] a get 3 = nothing"},
    {"the_first_value_stays",
     "[1..2] a put 3 0xa = true\n[3..4] b put 3 0xb = false\n[5..6] b get 3 = 0xa"},
    {"the_same_value_twice",
     "[1..2] a put 3 0xa = true\n[3..4] b put 3 0xa = false\n[5..6] b get 3 = 0xa"},
    {"a_put_of_the_dead_is_seen_late",
     "[1..] a put 3 0xa\n[5..6] b get 3 = nothing\n[7..8] b get 3 = 0xa"},
    {"a_put_of_the_dead_is_never_seen",
     "[1..] a put 3 0xa\n[5..6] b put 3 0xb = true\n[7..8] b get 3 = 0xb"},
    {"a_put_of_the_dead_stands_in_the_way",
     "[1..] a put 3 0xa\n[5..6] b put 3 0xb = false\n[7..8] b put 3 0xb = false"},
    {"a_failed_put_is_seen", "[1..2] a put 3 0xa = error\n[5..6] b get 3 = 0xa"},
    {"a_failed_put_is_not_seen", "[1..2] a put 3 0xa = error\n[5..6] b get 3 = nothing"},
    {"of_two_failed_puts_the_later_one_took_effect",
     "[1..2] a put 3 0xa = error\n[3..4] b get 3 = nothing\n[3..5] a put 3 0xa = error\n"
     "[6..7] b get 3 = 0xa"},
    {"what_touches_overlaps",
     "[1..4] a put 3 0xa = true\n[4..4] b get 3 = nothing\n[4..4] c get 3 = 0xa"},
    {"a_value_is_seen_before_its_put_returns",
     "[1..9] a put 3 0xa = true\n[2..4] b get 3 = nothing\n[3..6] c get 3 = 0xa"},
    {"gets_that_did_not_come_back_say_nothing",
     "[1..2] a put 3 0xa = true\n[3..] b get 3\n[3..4] c get 3 = error"},
    {"a_frozen_cache_refuses",
     "[1..2] r freeze = true\n[3..4] a put 3 0xa = false\n[5..6] a get 3 = nothing"},
    {"a_freeze_of_the_dead_may_have_frozen",
     "[1..] r freeze\n[3..4] a put 3 0xa = true\n[5..6] a put 4 0xa = false"},
    {"a_freeze_that_failed_may_have_frozen", "[1..2] r freeze = error\n[5..6] a put 4 0xa = false"},
    {"a_freeze_that_failed_may_not_have_frozen",
     "[1..2] r freeze = error\n[5..6] a put 4 0xa = true"},
    {"a_limit_is_reached",
     "refusals at_a_limit\n[1..2] a put 3 0xa = true\n[3..4] a put 4 0xa = false\n"
     "[5..6] b put 5 0xb = false"},
    {"a_disk_is_full_for_a_while",
     "refusals at_any_time\n[1..2] a put 3 0xa = false\n[3..4] a put 3 0xa = true"},
};

INSTANTIATE_TEST_SUITE_P(Lawful,
                         LawfulHistory,
                         testing::ValuesIn(lawful_histories),
                         [](const auto& each) { return each.param.name; });

TEST(SoundOperation, ends_as_its_kind_can_and_not_before_it_begins) {
  const Operation get = {.invoked = 1, .returned = 2, .ending = Ending::nothing};
  EXPECT_TRUE(is_sound(get));
  Operation reversed = get;
  reversed.invoked = 3;
  EXPECT_FALSE(is_sound(reversed));
  Operation put = get;
  put.kind = OperationKind::put;
  EXPECT_FALSE(is_sound(put));
  put.ending = Ending::yes;
  EXPECT_TRUE(is_sound(put));
  put.returned = never;
  EXPECT_FALSE(is_sound(put));
  put.ending = Ending::pending;
  EXPECT_TRUE(is_sound(put));
  put.returned = 2;
  EXPECT_FALSE(is_sound(put));
}

}  // namespace
}  // namespace lastref::harness::oracle
