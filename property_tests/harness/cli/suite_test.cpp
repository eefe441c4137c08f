// suite_test: what the file of a suite says, what is wrong in it, and what is done with known
// findings.
#include "harness/cli/suite.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/support/transcript.hpp"

namespace lastref::harness {
namespace {

using std::chrono::day;
using std::chrono::month;
using std::chrono::year;
using std::chrono::year_month_day;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Suite must_parse(std::string_view text) {
  auto suite = parse_suite(text, "lastref.toml");
  EXPECT_TRUE(suite) << suite.error().subject;
  return std::move(suite).value_or(Suite{});
}

TEST(Suite, has_its_stories_in_the_order_of_the_file) {
  const Suite suite = must_parse("[story.b]\ncommand = 'true'\n[story.a]\ncommand = 'true'\n");
  ASSERT_THAT(suite.stories, SizeIs(2));
  EXPECT_EQ(suite.stories[0].name, "b");
  EXPECT_EQ(suite.stories[1].name, "a");
  EXPECT_EQ(suite.stories[0].line, 1U);
  EXPECT_EQ(suite.stories[1].line, 3U);
}

TEST(Suite, has_the_options_of_a_run_as_keys) {
  const Suite suite = must_parse(R"(
[story.backup]
command = ["backup", "-v", "--", "a b"]
allow = ["/tmp/a*", "/tmp/b"]
check = "test -e product"
timeout = 20
grace = 0.5
unlikely = true
)");
  ASSERT_THAT(suite.stories, SizeIs(1));
  const RunVerbOptions& options = suite.stories[0].options;
  EXPECT_THAT(options.command, ElementsAre("backup", "-v", "--", "a b"));
  EXPECT_THAT(options.allowed, ElementsAre("/tmp/a*", "/tmp/b"));
  EXPECT_EQ(options.check, "test -e product");
  EXPECT_EQ(options.timeout, 20);
  EXPECT_EQ(options.grace, 0.5);
  EXPECT_TRUE(options.unlikely);
  EXPECT_TRUE(options.sweep);
}

TEST(Suite, gives_a_line_to_a_shell) {
  const Suite suite = must_parse("[story.a]\ncommand = 'sort a | uniq'\nunlikely = false\n");
  ASSERT_THAT(suite.stories, SizeIs(1));
  EXPECT_THAT(suite.stories[0].options.command, ElementsAre("sh", "-c", "sort a | uniq"));
  EXPECT_FALSE(suite.stories[0].options.unlikely);
}

TEST(Suite, says_what_is_wrong_and_where) {
  std::string told;
  for (const std::string_view text : {
           "",
           "[story.a\n",
           "budget = 3\n",
           "story = 3\n",
           "[story]\na = 3\n",
           "[story.a]\n",
           "[story.a]\ncommand = 3\n",
           "[story.a]\ncommand = []\n",
           "[story.a]\ncommand = [[\"sh\"]]\n",
           "[story.a]\ncommand = \"true\"\nchekc = \"true\"\n",
           "[story.a]\ncommand = \"true\"\ntimeout = \"never\"\n",
           "[story.a]\ncommand = \"true\"\nallow = 2026-01-01\n",
           "[story.a]\ncommand = \"true\"\njson = \"a.json\"\n",
           "[story.a]\ncommand = \"true\"\nfault = \"openat kill_before\"\n",
           "[story.a]\ncommand = \"true\"\n[[known]]\nstory = \"a\"\nfingerprint = \"12345678\"\n",
           "[story.ab]\ncommand = \"true\"\n[[known]]\nstory = \"ba\"\nfingerprint = "
           "\"12345678\"\nreason = \"r\"\n",
           "[story.a]\ncommand = \"true\"\n[[known]]\nuntil = \"tomorrow\"\n",
           "[story.a]\ncommand = \"true\"\n[known]\n",
       }) {
    const auto suite = parse_suite(text, "lastref.toml");
    ASSERT_FALSE(suite) << text;
    told += "--\n" + std::string(text) + "=> " + suite.error().subject + '\n';
  }
  pretend::expect_transcript(told);
}

TEST(Suite, has_no_options_of_the_whole_suite_and_none_that_contradict_a_sweep) {
  for (const char* key :
       {"bisect", "calls", "costs", "doctor", "fault",  "first",   "help",   "html",
        "json",   "junit", "list",  "output", "repeat", "resume",  "sample", "sarif",
        "seed",   "shard", "story", "suite",  "sweep",  "timeline"}) {
    const auto suite =
        parse_suite(fmt::format("[story.a]\ncommand = 'true'\n{} = 'x'\n", key), "lastref.toml");
    ASSERT_FALSE(suite) << key;
    EXPECT_EQ(suite.error().subject, fmt::format("lastref.toml:3: a story has no \"{}\"", key));
  }
  EXPECT_EQ(must_parse("[story.a]\ncommand = 'true'\nbudget = 7\n").stories[0].options.budget, 7);
}

class KnownFindings : public testing::Test {
 protected:
  KnownFindings() {
    add(report, {.scenario = "a", .claim = "no-leak", .seen = "x", .fingerprint = "1"});
    add(report, {.scenario = "b", .claim = "no-leak", .seen = "x", .fingerprint = "1"});
  }

  void set_apart(std::optional<year_month_day> until, const std::vector<std::string>& complete) {
    set_known_apart(report,
                    {{.story = "a", .fingerprint = "1", .reason = "issue 12", .until = until},
                     {.story = "b", .fingerprint = "2", .reason = "issue 13"}},
                    today,
                    complete);
  }

  const year_month_day today = year(2026) / month(11) / day(29);
  Report report;
};

TEST_F(KnownFindings, are_no_violations) {
  set_apart(std::nullopt, {});
  ASSERT_THAT(report.groups, SizeIs(1));
  EXPECT_EQ(report.groups[0].scenario, "b");
  EXPECT_THAT(report.after, HasSubstr("KNOWN          a 1: issue 12"));
  ASSERT_THAT(report.known, SizeIs(1));
  EXPECT_EQ(report.known[0].scenario, "a");
  EXPECT_EQ(report.known[0].note, "known: issue 12");
}

TEST_F(KnownFindings, are_known_until_the_end_of_their_last_day) {
  set_apart(today, {});
  EXPECT_THAT(report.groups, SizeIs(1));
}

TEST_F(KnownFindings, are_violations_after_it) {
  set_apart(year(2026) / month(11) / day(28), {});
  EXPECT_THAT(report.groups, SizeIs(2));
  EXPECT_THAT(report.after, HasSubstr("EXPIRED        a 1: issue 12, until 2026-11-28"));
  EXPECT_THAT(report.known, SizeIs(0));
  EXPECT_EQ(report.groups[0].note, "expired: issue 12, until 2026-11-28");
}

TEST_F(KnownFindings, are_missed_only_in_stories_that_were_tried_completely) {
  set_apart(std::nullopt, {"a"});
  EXPECT_THAT(report.after, Not(HasSubstr("NO LONGER SEEN")));
  report.after.clear();
  set_apart(std::nullopt, {"b"});
  EXPECT_THAT(report.after, HasSubstr("NO LONGER SEEN b 2: issue 13"));
}

}  // namespace
}  // namespace lastref::harness
