// text_test: every history has a text that reads back, and of a wrong text the first wrong line is
// named.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "harness/history/history_text.hpp"
#include "property_tests/harness/history/simulation.hpp"

namespace lastref::harness::oracle {
namespace {

RC_GTEST_PROP(HistoryText, reads_back_as_the_same_history, (std::uint64_t seed)) {
  std::mt19937_64 chance(seed);
  const History history = pretend::simulate({.operations = chance() % 20}, chance);
  const auto read = parse_history(to_text(history));
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->refusals == history.refusals);
  RC_ASSERT(read->operations.size() == history.operations.size());
  for (std::size_t at = 0; at < read->operations.size(); ++at) {
    Operation expected = history.operations[at];
    RC_ASSERT(read->actors.at(read->operations[at].actor) == history.actors.at(expected.actor));
    expected.actor = read->operations[at].actor;
    RC_ASSERT(read->operations[at] == expected);
  }
  RC_ASSERT(to_text(*read) == to_text(history));
}

RC_GTEST_PROP(HistoryText, with_a_byte_changed_is_refused_or_reads_as_what_it_says, ()) {
  std::mt19937_64 chance(*rc::gen::arbitrary<std::uint64_t>());
  std::string text = to_text(pretend::simulate({.operations = 3}, chance));
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      text[at] = *rc::gen::arbitrary<char>();
      break;
    case 1:
      text.erase(at, 1);
      break;
    case 2:
      text.insert(at, 1, *rc::gen::elementOf(std::string("[.] x1a=\n#")));
      break;
    default:
      text.resize(at);
  }
  const auto read = parse_history(text);
  if (read) {
    for (const Operation& operation : read->operations) {
      RC_ASSERT(is_sound(operation));
    }
    const auto again = parse_history(to_text(*read));
    RC_ASSERT(again.has_value());
    RC_ASSERT(to_text(*again) == to_text(*read));
  } else {
    const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
    RC_ASSERT(read.error().line > 0U);
    RC_ASSERT(read.error().line <= static_cast<std::size_t>(lines));
  }
}

TEST(HistoryTextWritten, is_as_people_read_it) {
  const std::string text =
      "refusals at_a_limit\n"
      "[1..4] worker_1 put 3 0xaa = true\n"
      "[5..6] worker_2 get 3 = nothing\n"
      "[7..8] worker_2 get 3 = 0xffffffffffffffff\n"
      "[9..] worker_1 put 4 0x0\n"
      "[9..] worker_1 get 4\n"
      "[10..12] worker_3 put 4 0xcc = error\n"
      "[10..12] worker_3 put 4 0xcc = false\n"
      "[13..14] root freeze = true\n"
      "[15..] root freeze\n";
  const auto read = parse_history("# A comment.\n\n" + text);
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(to_text(*read), text);
  EXPECT_EQ(read->actors, (std::vector<std::string>{"worker_1", "worker_2", "worker_3", "root"}));
}

struct WrongLine {
  const char* name;
  const char* line;
  Mistake mistake;
};

void PrintTo(const WrongLine& wrong, std::ostream* out) {
  *out << wrong.name;
}

class WrongHistoryText : public testing::TestWithParam<WrongLine> {};

TEST_P(WrongHistoryText, is_refused_with_its_line_and_what_is_wrong_with_it) {
  const std::string before = "# A comment.\nrefusals at_any_time\n\n[1..2] a get 3 = nothing\n";
  const auto read = parse_history(before + GetParam().line + "\nand more");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(), (HistoryTextError{.line = 5, .mistake = GetParam().mistake}));
  EXPECT_TRUE(describe(read.error()).starts_with("line 5 ")) << describe(read.error());
}

const WrongLine wrong_lines[] = {
    {"tokens", "worker_1 put 3 0xa = true", Mistake::no_moments},
    {"open_bracket", "[1..2 a get 3 = nothing", Mistake::no_moments},
    {"one_moment", "[1] a get 3 = nothing", Mistake::no_moments},
    {"no_invocation", "[..2] a get 3 = nothing", Mistake::no_moments},
    {"a_sign", "[-1..2] a get 3 = nothing", Mistake::no_moments},
    {"a_moment_too_late", "[1..18446744073709551615] a get 3 = nothing", Mistake::no_moments},
    {"begins_never", "[18446744073709551615..] a get 3", Mistake::no_moments},
    {"hex_moments", "[1..a] a get 3 = nothing", Mistake::no_moments},
    {"reversed", "[2..1] a get 3 = nothing", Mistake::moments_reversed},
    {"nobody", "[1..2]", Mistake::no_actor},
    {"two_spaces", "[1..2]  a get 3 = nothing", Mistake::no_actor},
    {"tabs", "[1..2] a\tget 3 = nothing", Mistake::no_actor},
    {"no_kind", "[1..2] a", Mistake::no_kind},
    {"another_kind", "[1..2] a take 3 = nothing", Mistake::no_kind},
    {"no_slot", "[1..2] a get = nothing", Mistake::no_slot},
    {"a_slot_below_zero", "[1..2] a get -3 = nothing", Mistake::no_slot},
    {"no_value", "[1..2] a put 3 = true", Mistake::no_value},
    {"a_decimal_value", "[1..2] a put 3 12 = true", Mistake::no_value},
    {"an_empty_value", "[1..2] a put 3 0x = true", Mistake::no_value},
    {"a_capital_value", "[1..2] a put 3 0xA = true", Mistake::no_value},
    {"a_value_of_17_digits", "[1..2] a put 3 0x10000000000000000 = true", Mistake::no_value},
    {"returns_in_no_way", "[1..2] a get 3", Mistake::no_ending},
    {"never_returns_and_does", "[1..] a get 3 = nothing", Mistake::no_ending},
    {"a_get_with_an_answer", "[1..2] a get 3 = true", Mistake::no_ending},
    {"a_put_with_a_sight", "[1..2] a put 3 0xa = 0xa", Mistake::no_ending},
    {"a_put_with_nothing", "[1..2] a put 3 0xa = nothing", Mistake::no_ending},
    {"a_freeze_with_nothing", "[1..2] a freeze = nothing", Mistake::no_ending},
    {"another_ending", "[1..2] a put 3 0xa = maybe", Mistake::no_ending},
    {"no_ending", "[1..2] a put 3 0xa =", Mistake::no_ending},
    {"a_freeze_of_a_slot", "[1..2] a freeze 3 = true", Mistake::no_ending},
    {"goes_on", "[1..2] a put 3 0xa = true or so", Mistake::text_left_over},
    {"goes_on_for_ever", "[1..] a put 3 0xa true", Mistake::text_left_over},
    {"late_refusals", "refusals when_frozen", Mistake::late_refusals},
};

INSTANTIATE_TEST_SUITE_P(HistoryText,
                         WrongHistoryText,
                         testing::ValuesIn(wrong_lines),
                         [](const auto& each) { return each.param.name; });

TEST(HistoryTextOfRefusals, has_one_of_three_tokens_and_one_line) {
  EXPECT_EQ(parse_history("refusals\n").error(), (HistoryTextError{1, Mistake::no_refusals}));
  EXPECT_EQ(parse_history("refusals never\n").error(), (HistoryTextError{1, Mistake::no_refusals}));
  EXPECT_EQ(parse_history("refusals at_a_limit\nrefusals at_a_limit").error(),
            (HistoryTextError{2, Mistake::late_refusals}));
  EXPECT_EQ(parse_history("")->refusals, Refusals::when_frozen);
}

TEST(HistoryTextOfMistakes, tells_any_two_apart) {
  std::set<std::string> texts;
  for (const WrongLine& wrong : wrong_lines) {
    texts.insert(describe({1, wrong.mistake}));
  }
  EXPECT_EQ(texts.size(), 9U);
  EXPECT_FALSE(texts.contains(describe({1, Mistake::no_refusals})));
}

}  // namespace
}  // namespace lastref::harness::oracle
