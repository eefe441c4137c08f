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

namespace lastref::harness::oracle {
namespace {

/// A history, and the findings that it must cause, one a line.
struct Planted {
  const char* name;
  const char* text;
  const char* seen;
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

class PlantedHistory : public testing::TestWithParam<Planted> {};

TEST_P(PlantedHistory, raises_its_findings_and_no_other) {
  const auto history = parse_history(GetParam().text);
  ASSERT_TRUE(history) << describe(history.error());
  EXPECT_EQ(seen_in(*history), GetParam().seen);
  EXPECT_EQ(pretend::has_lawful_order(*history), std::string(GetParam().seen).empty());
}

const Planted wrong_histories[] = {
    {"two_puts_come_back_true",
     "[1..2] a put 3 0xa = true\n[3..4] b put 3 0xb = true",
     "slot 3: put by a [1..2] came back true, and so did put by b [3..4]"},
    {"two_values_are_seen",
     "[1..] a put 3 0xa\n[1..] b put 3 0xb\n[3..4] c get 3 = 0xa\n[3..4] d get 3 = 0xb",
     "slot 3: get by c [3..4] saw 0xa, and get by d [3..4] saw 0xb"},
    {"another_value_is_seen_than_was_taken",
     "[1..9] a put 3 0xa = true\n[1..] b put 3 0xb\n[2..4] c get 3 = 0xb",
     "slot 3: get by c [2..4] saw 0xb, though put by a [1..9] came back true with 0xa"},
    {"a_value_nobody_put",
     "[1..] a put 3 0xa\n[1..] a put 4 0xb\n[5..6] c get 3 = 0xb",
     "slot 3: get by c [5..6] saw 0xb, which nobody put"},
    {"a_value_whose_put_came_back_false",
     "refusals at_any_time\n[1..2] a put 3 0xa = false\n[5..6] c get 3 = 0xa",
     "slot 3: get by c [5..6] saw 0xa, though put by a [1..2] came back false"},
    {"a_value_goes_after_it_was_seen",
     "[1..] a put 3 0xa\n[9..12] b get 3 = 0xa\n[17..19] c get 3 = nothing",
     "slot 3: get by c [17..19] saw nothing after get by b [9..12] had seen 0xa"},
    {"a_value_is_not_there_after_its_put",
     "[1..4] a put 3 0xa = true\n[5..6] b get 3 = nothing",
     "slot 3: get by b [5..6] saw nothing after put by a [1..4] came back true"},
    {"a_failed_put_takes_effect_after_its_return",
     "[1..4] a put 3 0xa = error\n[5..6] b get 3 = nothing\n[7..8] b get 3 = 0xa",
     "slot 3: get by b [5..6] saw nothing after put by a [1..4] failed, and get by b [7..8] saw "
     "0xa"},
    {"a_value_is_seen_before_its_put",
     "[1..2] b get 3 = 0xa\n[3..] a put 3 0xa",
     "slot 3: get by b [1..2] saw 0xa before put by a [3..] of 0xa had begun"},
    {"no_put_of_several_was_at_the_right_time",
     "[1..2] a put 3 0xa = error\n[3..4] b get 3 = nothing\n[5..6] b get 3 = 0xa\n[7..] c put 3 "
     "0xa",
     "slot 3: no put was under way after get by b [3..4] saw nothing and before get by b [5..6] "
     "saw 0xa"},
    {"a_put_finds_a_value_that_is_still_to_come",
     "refusals at_a_limit\n[1..2] a put 3 0xa = false\n[3..4] b put 3 0xb = true",
     "slot 3: put by a [1..2] came back false before put by b [3..4] of 0xb had begun"},
    {"a_value_goes_between_two_that_found_it",
     "[1..9] b put 3 0xb = true\n[1..2] a put 3 0xa = false\n[3..4] c get 3 = nothing",
     "slot 3: get by c [3..4] saw nothing after put by a [1..2] came back false, and yet put by b "
     "[1..9] came back true"},
    {"a_value_goes_between_a_put_and_a_get_that_found_it",
     "[1..] b put 3 0xb\n[1..2] a put 3 0xa = false\n[3..4] c get 3 = nothing\n"
     "[5..6] c get 3 = 0xb",
     "slot 3: get by c [3..4] saw nothing after put by a [1..2] came back false, and yet get by c "
     "[5..6] saw 0xb"},
    {"a_put_is_refused_alone",
     "[1..2] a put 3 0xa = false",
     "slot 3: put by a [1..2] came back false, and nothing froze it, with no other put of the "
     "slot"},
    {"a_put_is_refused_before_another_begins",
     "[1..2] a put 3 0xa = false\n[3..] b put 3 0xb",
     "slot 3: put by a [1..2] came back false, and nothing froze it, and no put of the slot had "
     "begun before put by b [3..]"},
    {"a_put_is_refused_and_then_nothing_is_there",
     "[1..] b put 3 0xb\n[1..2] a put 3 0xa = false\n[3..4] c get 3 = nothing",
     "slot 3: put by a [1..2] came back false, and nothing froze it, and get by c [3..4] saw "
     "nothing after that"},
    {"a_put_is_refused_though_the_other_one_failed",
     "[1..2] b put 3 0xb = error\n[3..4] c get 3 = nothing\n[3..5] a put 3 0xa = false",
     "slot 3: put by a [3..5] came back false, and nothing froze it, and get by c [3..4] saw "
     "nothing after put by b [1..2] failed"},
    {"a_put_is_refused_before_the_freeze",
     "[1..2] a put 3 0xa = false\n[3..4] r freeze = true\n[5..6] a put 3 0xa = false",
     "slot 3: put by a [1..2] came back false before freeze by r [3..4] had begun, with no other "
     "put of the slot"},
    {"a_freeze_that_did_not_freeze_excuses_nobody",
     "[1..2] r freeze = false\n[3..4] a put 3 0xa = false",
     "slot 3: put by a [3..4] came back false, and nothing froze it, with no other put of the "
     "slot"},
    {"a_put_comes_back_true_after_the_freeze",
     "[1..2] r freeze = true\n[3..4] a put 3 0xa = true",
     "slot 3: put by a [3..4] came back true after freeze by r [1..2] had frozen it"},
    {"a_put_takes_effect_after_the_freeze",
     "[1..9] a put 3 0xa = true\n[2..3] r freeze = true\n[4..5] b get 3 = nothing",
     "slot 3: get by b [4..5] saw nothing and put by a [1..9] came back true after freeze by r "
     "[2..3] had frozen it"},
    {"a_put_of_the_dead_takes_effect_after_the_freeze",
     "[2..3] r freeze = true\n[4..] a put 3 0xa\n[6..7] b get 3 = 0xa",
     "slot 3: put by a [4..] took effect, for get by b [6..7] saw 0xa, after freeze by r [2..3] "
     "had frozen it"},
    {"a_freeze_at_any_time_is_still_one",
     "refusals at_any_time\n[1..2] r freeze = true\n[3..4] a put 3 0xa = true",
     "slot 3: put by a [3..4] came back true after freeze by r [1..2] had frozen it"},
    {"one_slot_is_frozen_and_another_takes",
     "[1..9] r freeze = true\n[2..3] a put 3 0xa = false\n[4..5] b put 7 0xb = true",
     "slot 7: put by b [4..5] came back true after put by a [2..3] had been refused in slot 3"},
    {"a_limit_freezes_for_all",
     "refusals at_a_limit\n[2..3] a put 3 0xa = false\n[4..5] b put 7 0xb = true",
     "slot 7: put by b [4..5] came back true after put by a [2..3] had been refused in slot 3"},
    {"no_freeze_between_one_that_takes_and_one_that_refuses",
     "[1..2] r freeze = error\n[3..4] b put 7 0xb = true\n[3..5] a put 3 0xa = false\n"
     "[6..] r freeze",
     "slot 7: put by b [3..4] came back true, put by a [3..5] was refused in slot 3, and no freeze "
     "was under way in between"},
    {"two_slots_are_wrong",
     "[1..2] a get 9 = 0xa\n[1..2] a get 2 = 0xffffffffffffffff\n[1..2] a get 5 = nothing",
     "slot 2: get by a [1..2] saw 0xffffffffffffffff, which nobody put\n"
     "slot 9: get by a [1..2] saw 0xa, which nobody put"},
};

INSTANTIATE_TEST_SUITE_P(Wrong,
                         PlantedHistory,
                         testing::ValuesIn(wrong_histories),
                         [](const auto& each) { return each.param.name; });

const Planted lawful_histories[] = {
    {"of_nothing", "", ""},
    {"an_empty_slot_is_empty", "[1..2] a get 3 = nothing\n[3..4] a get 3 = nothing", ""},
    {"the_first_value_stays",
     "[1..2] a put 3 0xa = true\n[3..4] b put 3 0xb = false\n[5..6] b get 3 = 0xa",
     ""},
    {"the_same_value_twice",
     "[1..2] a put 3 0xa = true\n[3..4] b put 3 0xa = false\n[5..6] b get 3 = 0xa",
     ""},
    {"a_put_of_the_dead_is_seen_late",
     "[1..] a put 3 0xa\n[5..6] b get 3 = nothing\n[7..8] b get 3 = 0xa",
     ""},
    {"a_put_of_the_dead_is_never_seen",
     "[1..] a put 3 0xa\n[5..6] b put 3 0xb = true\n[7..8] b get 3 = 0xb",
     ""},
    {"a_put_of_the_dead_stands_in_the_way",
     "[1..] a put 3 0xa\n[5..6] b put 3 0xb = false\n[7..8] b put 3 0xb = false",
     ""},
    {"a_failed_put_is_seen", "[1..2] a put 3 0xa = error\n[5..6] b get 3 = 0xa", ""},
    {"a_failed_put_is_not_seen", "[1..2] a put 3 0xa = error\n[5..6] b get 3 = nothing", ""},
    {"of_two_failed_puts_the_later_one_took_effect",
     "[1..2] a put 3 0xa = error\n[3..4] b get 3 = nothing\n[3..5] a put 3 0xa = error\n"
     "[6..7] b get 3 = 0xa",
     ""},
    {"what_touches_overlaps",
     "[1..4] a put 3 0xa = true\n[4..4] b get 3 = nothing\n[4..4] c get 3 = 0xa",
     ""},
    {"a_value_is_seen_before_its_put_returns",
     "[1..9] a put 3 0xa = true\n[2..4] b get 3 = nothing\n[3..6] c get 3 = 0xa",
     ""},
    {"gets_that_did_not_come_back_say_nothing",
     "[1..2] a put 3 0xa = true\n[3..] b get 3\n[3..4] c get 3 = error",
     ""},
    {"a_frozen_cache_refuses",
     "[1..2] r freeze = true\n[3..4] a put 3 0xa = false\n[5..6] a get 3 = nothing",
     ""},
    {"a_freeze_of_the_dead_may_have_frozen",
     "[1..] r freeze\n[3..4] a put 3 0xa = true\n[5..6] a put 4 0xa = false",
     ""},
    {"a_freeze_that_failed_may_have_frozen",
     "[1..2] r freeze = error\n[5..6] a put 4 0xa = false",
     ""},
    {"a_freeze_that_failed_may_not_have_frozen",
     "[1..2] r freeze = error\n[5..6] a put 4 0xa = true",
     ""},
    {"a_limit_is_reached",
     "refusals at_a_limit\n[1..2] a put 3 0xa = true\n[3..4] a put 4 0xa = false\n"
     "[5..6] b put 5 0xb = false",
     ""},
    {"a_disk_is_full_for_a_while",
     "refusals at_any_time\n[1..2] a put 3 0xa = false\n[3..4] a put 3 0xa = true",
     ""},
};

INSTANTIATE_TEST_SUITE_P(Lawful,
                         PlantedHistory,
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
