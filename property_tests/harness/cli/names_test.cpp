// names_test: which names a pattern matches, and which name is suggested for a mistyped one.
#include "harness/cli/names.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "harness/scenario/pattern.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::harness {
namespace {

TEST(Names, a_star_is_any_text_and_a_question_mark_one_byte) {
  EXPECT_TRUE(matches("unlink_race/*", "unlink_race/two"));
  EXPECT_TRUE(matches("*/two*", "unlink_race/two_workers"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a?c*", "abc"));
  EXPECT_TRUE(matches("*a*b*", "xaxxb"));
  EXPECT_FALSE(matches("a?c", "ac"));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_FALSE(matches("unlink_race/", "unlink_race/two"));
  EXPECT_FALSE(matches("*b*a", "xaxxb"));
}

TEST(Names, brackets_are_one_byte_of_a_set) {
  EXPECT_TRUE(matches("/tmp/job.[0-9]*", "/tmp/job.17"));
  EXPECT_FALSE(matches("/tmp/job.[0-9]*", "/tmp/job.log"));
  EXPECT_TRUE(matches("[!0-9]", "a"));
  EXPECT_FALSE(matches("[^0-9]", "5"));
  EXPECT_TRUE(matches("[]a-]]", "-]"));
  EXPECT_TRUE(matches("[a\\]b]", "]"));
  EXPECT_TRUE(matches("pipe:[", "pipe:["));
  EXPECT_TRUE(matches("[!]", "[!]"));
  EXPECT_FALSE(is_one_name("/tmp/[ab]"));
  EXPECT_TRUE(is_one_name("/tmp/[ab"));
  EXPECT_TRUE(is_one_name("/tmp/\\[ab]"));
}

/// glibc's fnmatch(3) matches nothing with a '\' or an open range at the end, and we match them.
bool is_of_fnmatch(const std::string& pattern) {
  return (pattern.size() - (pattern.find_last_not_of('\\') + 1)) % 2 == 0 &&
         !pattern.ends_with('-');
}

RC_GTEST_PROP(NameProperties, a_pattern_matches_as_for_fnmatch, ()) {
  const auto pattern =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("abc[[]]!-\\*?")));
  const auto name = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("abc[]!-")));
  RC_PRE(is_of_fnmatch(pattern));
  RC_ASSERT(matches(pattern, name) == (::fnmatch(pattern.c_str(), name.c_str(), 0) == 0));
}

RC_GTEST_PROP(NameProperties, the_pattern_of_a_name_matches_it_alone, ()) {
  const auto letters = rc::gen::container<std::string>(rc::gen::elementOf(std::string("a[]*?\\")));
  const std::string one = *letters;
  const std::string other = *letters;
  RC_ASSERT(is_one_name(pattern_of(one)));
  RC_ASSERT(matches(pattern_of(one), one));
  RC_ASSERT(matches(pattern_of(one), other) == (one == other));
}

RC_GTEST_PROP(NameProperties, a_pattern_made_of_pieces_of_a_name_matches_it, ()) {
  const auto name = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("abc/_")));
  std::string pattern;
  for (const char letter : name) {
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        pattern += '?';
        break;
      case 1:
        pattern += '*';
        break;
      case 2:
        pattern += std::string(1, letter) + '*';
        break;
      default:
        pattern += letter;
    }
  }
  RC_ASSERT(matches(pattern, name));
}

RC_GTEST_PROP(NameProperties, a_pattern_without_signs_matches_itself_alone, ()) {
  const auto letters = rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab")));
  const std::string one = *letters;
  const std::string other = *letters;
  RC_ASSERT(matches(one, other) == (one == other));
}

/// Whether that many insertions, deletions and changes turn one into the other.
bool are_near(std::string_view one, std::string_view other, std::size_t mistakes) {
  if (one.empty() || other.empty()) {
    return std::max(one.size(), other.size()) <= mistakes;
  }
  const std::string_view one_rest = one.substr(1);
  const std::string_view other_rest = other.substr(1);
  if (one.front() == other.front()) {
    return are_near(one_rest, other_rest, mistakes);
  }
  return mistakes > 0 &&
         (are_near(one_rest, other_rest, mistakes - 1) || are_near(one_rest, other, mistakes - 1) ||
          are_near(one, other_rest, mistakes - 1));
}

RC_GTEST_PROP(NameProperties, a_name_is_suggested_if_few_mistakes_make_it_of_the_word, ()) {
  // Short ones, because the work of are_near triples with each mistake.
  const auto letters =
      rc::gen::resize(12, rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab"))));
  const std::string wanted = *rc::gen::nonEmpty(letters);
  std::string name = wanted;
  for (int mistakes = *rc::gen::inRange(0, 7); mistakes > 0; --mistakes) {
    const auto at = *rc::gen::inRange<std::size_t>(0, name.size() + 1);
    name.replace(at, *rc::gen::inRange<std::size_t>(0, 2), *rc::gen::element<std::string>("", "c"));
  }
  const std::size_t size = std::max(wanted.size(), name.size());
  const std::size_t most = std::min(std::max(size / 3, std::size_t{2}), size - 1);
  const bool is_near = name.find(wanted) != std::string::npos || are_near(wanted, name, most);
  RC_CLASSIFY(is_near);
  RC_ASSERT(nearest(wanted, std::vector{name}).empty() == !is_near);
}

const std::vector<std::string> verbs = {"gate", "list", "replay", "sweep", "tracker"};

TEST(Names, a_mistyped_name_finds_its_neighbour) {
  EXPECT_THAT(suggestion("gaet", verbs), testing::HasSubstr("gate"));
  EXPECT_EQ(suggestion("gat", verbs), suggestion("gaet", verbs));
  EXPECT_THAT(suggestion("reply", verbs), testing::HasSubstr("replay"));
  EXPECT_THAT(suggestion("trakcer", verbs), testing::HasSubstr("tracker"));
  EXPECT_EQ(suggestion("xyzzy", verbs), "");
  EXPECT_EQ(suggestion("", verbs), "");
  pretend::expect_transcript(suggestion("gaet", verbs));
}

TEST(Names, a_part_of_a_name_finds_the_whole) {
  EXPECT_EQ(suggestion("track", verbs), suggestion("trakcer", verbs));
}

}  // namespace
}  // namespace lastref::harness
