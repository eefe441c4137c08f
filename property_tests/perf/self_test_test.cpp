// self_test: the verdict on its trials, without running any.
#include "bench/perf/self_test.hpp"

#include <functional>

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
  const auto exit_after = [](bool is_quick, const std::function<void(SelfTestReport&)>& change) {
    SelfTestReport report = good(is_quick);
    change(report);
    return exit_of(report);
  };
  using Report = SelfTestReport;
  EXPECT_EQ(exit_after(true, [](Report& report) { report.tenths.said_same = 1; }), Exit::violation);
  EXPECT_EQ(exit_after(true, [](Report& report) { report.tenths.not_told = 1; }), Exit::incomplete);
  const auto finds = [](std::size_t tenths, std::size_t hundredths, std::size_t not_told) {
    return [=](Report& report) {
      report.tenths.said_slower = tenths;
      report.hundredths.said_slower = hundredths;
      report.hundredths.not_told = not_told;
    };
  };
  EXPECT_EQ(exit_after(false, finds(98, 47, 0)), Exit::violation);
  EXPECT_EQ(exit_after(false, finds(99, 44, 0)), Exit::violation);
  EXPECT_EQ(exit_after(false, finds(99, 44, 3)), Exit::incomplete);
}

void expect_undecided(const SelfTestReport& report, const std::string& why) {
  EXPECT_EQ(exit_of(report), Exit::incomplete);
  EXPECT_THAT(text_of(report), HasSubstr(why));
  if (!why.ends_with("loud")) {
    EXPECT_THAT(text_of(report), Not(HasSubstr("loud")));
  }
}

TEST(SelfTest, that_has_tried_nothing_proves_nothing) {
  SelfTestReport nothing;
  nothing.noise = {{.benchmark = "put", .why = "too loud"}};
  nothing.equals_wanted = 200;
  expect_undecided(nothing, "put: left out, too loud");
  expect_undecided(nothing, "\ntoo loud");
  SelfTestReport cut = good(/*is_quick=*/false);
  cut.equals.count = 199;
  EXPECT_EQ(exit_of(cut), Exit::incomplete);
}

TEST(SelfTest, that_had_no_time_does_not_call_the_machine_loud) {
  SelfTestReport report = good(/*is_quick=*/true);
  report.is_time_over = true;
  report.tenths = {};
  expect_undecided(report, "the time was over before it was decided");
  report.tenths.not_told = 1;
  expect_undecided(report, "too loud");
  report.equals = report.hundredths = report.tenths = {};
  expect_undecided(report, "the time was over before the first trial");
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
