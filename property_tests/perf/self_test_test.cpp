// self_test: the verdict on its trials, without running any.
#include "bench/perf/self_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lastref::perf {
namespace {

using harness::Exit;
using testing::HasSubstr;
using testing::Not;

SelfTestReport good(bool is_quick) {
  return {
      .noise = {{.benchmark = "put", .spread = 0.03, .place = "write_at"}},
      .equals = {.count = 200, .said_same = 200, .pairs = 4000},
      .hundredths = {.slower = 0.03, .count = 50, .said_slower = 47, .said_same = 3},
      .tenths = {.slower = 0.1, .count = 100, .said_slower = 99, .said_same = is_quick ? 0U : 1U},
      .equals_wanted = 200,
      .rules = {},
      .is_quick = is_quick};
}

TEST(SelfTest, that_finds_enough_and_raises_no_alarm_is_clean) {
  EXPECT_EQ(exit_of(good(/*is_quick=*/true)), Exit::clean);
  EXPECT_EQ(exit_of(good(/*is_quick=*/false)), Exit::clean);
  const std::string text = text_of(good(/*is_quick=*/false));
  EXPECT_THAT(text, HasSubstr("200 trials of A against A: 0 false alarms"));
  EXPECT_THAT(text, HasSubstr("fewer than 1.5 %"));
  EXPECT_THAT(text, HasSubstr("slowed at write_at"));
}

TEST(SelfTest, one_false_alarm_is_one_too_many) {
  for (const bool is_quick : {false, true}) {
    SelfTestReport report = good(is_quick);
    report.equals.said_faster = 1;
    EXPECT_EQ(exit_of(report), Exit::violation);
    EXPECT_THAT(text_of(report), HasSubstr("A FALSE ALARM"));
    report = good(is_quick);
    report.tenths.said_faster = 1;
    EXPECT_EQ(exit_of(report), Exit::violation);
  }
}

TEST(SelfTest, what_is_called_the_same_was_missed_and_what_cannot_be_told_was_not) {
  SelfTestReport missed = good(/*is_quick=*/true);
  missed.tenths.said_same = 1;
  EXPECT_EQ(exit_of(missed), Exit::violation);
  SelfTestReport loud = good(/*is_quick=*/true);
  loud.tenths.not_told = 1;
  EXPECT_EQ(exit_of(loud), Exit::incomplete);
  missed = good(/*is_quick=*/false);
  missed.tenths.said_slower = 98;
  missed.tenths.said_same = 2;
  EXPECT_EQ(exit_of(missed), Exit::violation);
  missed = good(/*is_quick=*/false);
  missed.hundredths.said_slower = 44;
  EXPECT_EQ(exit_of(missed), Exit::violation);
  missed.hundredths.not_told = 3;
  EXPECT_EQ(exit_of(missed), Exit::incomplete);
}

TEST(SelfTest, that_has_tried_nothing_proves_nothing) {
  SelfTestReport nothing;
  nothing.noise = {{.benchmark = "put", .why = "too loud"}};
  nothing.equals_wanted = 200;
  EXPECT_EQ(exit_of(nothing), Exit::incomplete);
  EXPECT_THAT(text_of(nothing), HasSubstr("put: left out, too loud"));
  EXPECT_THAT(text_of(nothing), HasSubstr("too loud to decide"));
  SelfTestReport cut = good(/*is_quick=*/false);
  cut.equals.count = 199;
  EXPECT_EQ(exit_of(cut), Exit::incomplete);
}

TEST(SelfTest, that_had_no_time_does_not_call_the_machine_loud) {
  SelfTestReport short_of_time = good(/*is_quick=*/true);
  short_of_time.equals = short_of_time.hundredths = short_of_time.tenths = {};
  short_of_time.is_time_over = true;
  EXPECT_EQ(exit_of(short_of_time), Exit::incomplete);
  EXPECT_THAT(text_of(short_of_time), HasSubstr("the time was over before the first trial"));
  EXPECT_THAT(text_of(short_of_time), Not(HasSubstr("loud")));
  SelfTestReport cut = good(/*is_quick=*/true);
  cut.tenths = {};
  cut.is_time_over = true;
  EXPECT_EQ(exit_of(cut), Exit::incomplete);
  EXPECT_THAT(text_of(cut), HasSubstr("the time was over before it was decided"));
  EXPECT_THAT(text_of(cut), Not(HasSubstr("loud")));
  cut.tenths.not_told = 1;
  EXPECT_THAT(text_of(cut), HasSubstr("too loud"));
}

TEST(SelfTest, counts_what_is_told) {
  Trials trials;
  trials.add({.verdict = Verdict::slower, .pairs = 20});
  trials.add({.verdict = Verdict::same, .pairs = 30});
  trials.add({.verdict = Verdict::cannot_tell, .pairs = 50});
  EXPECT_EQ(trials.count, 3U);
  EXPECT_EQ(trials.said_slower + trials.said_same + trials.not_told, 3U);
  EXPECT_DOUBLE_EQ(trials.pairs, 100);
}

}  // namespace
}  // namespace lastref::perf
