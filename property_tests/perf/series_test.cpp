#include "bench/perf/series.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <random>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "bench/perf/statistics.hpp"

namespace lastref::perf {

void PrintTo(const ChangePoint& point, std::ostream* out) {
  *out << "at " << point.index << ", " << point.before << " to " << point.after << ", p "
       << point.p;
}

namespace {

using Values = std::vector<double>;

/// Values around levels, each with `each` of them. The noise is uniform, from -1 to 1.
Values around(const std::vector<double>& levels, std::size_t each, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Values series;
  for (const double level : levels) {
    for (std::size_t i = 0; i < each; ++i) {
      const double share = static_cast<double>(random() >> 11U) / 9007199254740992.0;
      series.push_back(level + 2 * share - 1);
    }
  }
  return series;
}

/// Whether one of the points is at this place, or next to it.
bool has_near(const std::vector<ChangePoint>& points, std::size_t place) {
  return std::ranges::any_of(points, [&](const ChangePoint& point) {
    return std::max(point.index, place) - std::min(point.index, place) <= 1;
  });
}

RC_GTEST_PROP(ChangePoints, a_step_above_the_noise_is_found_where_it_is, ()) {
  const auto each = *rc::gen::inRange<std::size_t>(6, 30);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const double step = *rc::gen::element(-6.0, -4.0, 4.0, 6.0, 50.0);
  RC_ASSERT(has_near(change_points_of(around({100, 100 + step}, each, seed)), each));
}

RC_GTEST_PROP(ChangePoints, both_of_two_steps_are_found, ()) {
  const auto each = *rc::gen::inRange<std::size_t>(10, 20);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const double last = *rc::gen::element(100.0, 120.0, 90.0);
  const auto points = change_points_of(around({100, 110, last}, each, seed));
  RC_ASSERT(has_near(points, each));
  RC_ASSERT(has_near(points, 2 * each));
}

RC_GTEST_PROP(ChangePoints, a_value_that_stands_out_is_no_step, ()) {
  const auto length = *rc::gen::inRange<std::size_t>(10, 40);
  const auto at = *rc::gen::inRange<std::size_t>(0, length);
  const double far = *rc::gen::element(50.0, 99.0, 101.0, 200.0, 1e6);
  Values series(length, 100);
  series[at] = far;
  RC_ASSERT(change_points_of(series).empty());
}

RC_GTEST_PROP(ChangePoints, a_series_of_one_value_has_none, ()) {
  const auto length = *rc::gen::inRange<std::size_t>(0, 60);
  const double value = *rc::gen::element(0.0, 1e-9, 0.1, 1.0 / 3, 1e300, -7.0);
  RC_ASSERT(change_points_of(Values(length, value)).empty());
}

RC_GTEST_PROP(ChangePoints, a_short_series_has_none, ()) {
  const std::size_t enough = values_min({});
  const auto length = *rc::gen::inRange<std::size_t>(0, enough);
  Values series(length, 1);
  std::fill(series.begin() + static_cast<std::ptrdiff_t>(length / 2), series.end(), 1000);
  RC_ASSERT(change_points_of(series).empty());
}

RC_GTEST_PROP(ChangePoints, what_is_said_of_them_fits_the_series, ()) {
  const auto series = *rc::gen::container<Values>(
      rc::gen::map(rc::gen::inRange(1, 40), [](int value) { return static_cast<double>(value); }));
  const ChangePointOptions options = {.p = 0.1, .orders = 99};
  std::size_t before = 0;
  for (const ChangePoint& point : change_points_of(series, options)) {
    RC_ASSERT(point.index >= before + values_of_a_part);
    RC_ASSERT(point.index + values_of_a_part <= series.size());
    RC_ASSERT(point.p > 0);
    RC_ASSERT(point.p <= options.p);
    RC_ASSERT(point.place.least <= point.index);
    RC_ASSERT(point.place.most >= point.index);
    RC_ASSERT(point.ratio_within.least <= point.ratio_within.most);
    RC_ASSERT(std::abs(point.ratio * point.before - point.after) < 1e-9);
    before = point.index;
  }
}

RC_GTEST_PROP(ChangePoints, the_unit_of_the_values_is_the_same_to_them, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Values series = around({100, 103}, 12, seed);
  Values scaled = series;
  // A power of two: rounding is not affected.
  std::ranges::for_each(scaled, [](double& value) { value /= 1073741824; });
  const auto points = change_points_of(series);
  const auto others = change_points_of(scaled);
  RC_ASSERT(points.size() == others.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    RC_ASSERT(points[i].index == others[i].index);
    RC_ASSERT(points[i].p == others[i].p);
  }
}

/// How many of 1,000 series without a change have some. The guarantee allows 10 on average; 24 or
/// more happen once in 10,000 times. The seeds are fixed, so the result is always the same.
int alarms(const std::function<void(Values& series, std::uint64_t seed)>& change) {
  int count = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Values series = around({100}, 30, seed);
    change(series, seed);
    count += change_points_of(series, {.seed = seed}).empty() ? 0 : 1;
  }
  return count;
}

TEST(ChangePoints, noise_has_some_no_more_often_than_was_promised) {
  const int count = alarms([](Values&, std::uint64_t) {});
  EXPECT_LT(count, 24);
  EXPECT_GT(count, 1) << "a test that never alarms is a weak one";
}

// As that of a busy machine: the guarantee holds for it too.
TEST(ChangePoints, noise_with_outliers_keeps_the_promise_too) {
  const auto add_outliers = [](Values& series, std::uint64_t seed) {
    std::mt19937_64 random(seed + 5000);
    std::ranges::for_each(series, [&](double& value) { value *= random() % 8 == 0 ? 1.5 : 1; });
  };
  EXPECT_LT(alarms(add_outliers), 24);
}

TEST(ChangePoints, a_step_is_told_with_its_ratio_and_place) {
  const auto points = change_points_of(around({100, 120}, 15, 7));
  ASSERT_EQ(points.size(), 1U);
  const ChangePoint& point = points.front();
  EXPECT_EQ(point.index, 15U);
  EXPECT_EQ(point.place, (Within<std::size_t>{.least = 15, .most = 15}));
  EXPECT_NEAR(point.ratio, 1.2, 0.01);
  EXPECT_LT(point.ratio_within.least, point.ratio);
  EXPECT_GT(point.ratio_within.most, point.ratio);
  EXPECT_LE(point.p, 0.002);
}

TEST(ChangePoints, the_same_seed_gives_the_same_answer) {
  const Values series = around({100, 101, 100}, 15, 3);
  const auto once = change_points_of(series, {.p = 0.1, .seed = 9});
  const auto again = change_points_of(series, {.p = 0.1, .seed = 9});
  ASSERT_EQ(once.size(), again.size());
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].p, again[i].p);
    EXPECT_EQ(once[i].ratio_within, again[i].ratio_within);
  }
}

TEST(ChangePoints, as_many_values_are_needed_as_a_clean_step_takes_to_be_seen) {
  const std::size_t enough = values_min({});
  EXPECT_EQ(enough, 10U);
  EXPECT_EQ(values_min({.p = 0.05}), 8U);
  Values step(enough, 1);
  std::fill(step.begin() + static_cast<std::ptrdiff_t>(enough / 2), step.end(), 2);
  EXPECT_EQ(change_points_of(step, {.orders = 9999}).size(), 1U);
}

Record record_of(const std::string& commit,
                 std::int64_t position,
                 const std::vector<double>& seconds) {
  Record record;
  record.commit = {.name = commit, .time = 100 - position, .position = position};
  record.machine = {.processor = "P", .cores = 2, .kernel = "6", .governor = ""};
  record.program = "a_bench";
  record.benchmarks = {
      {.name = "b/real_time", .wall_seconds = seconds, .counters = {{"peer", {2, 4, 3}}}}};
  return record;
}

std::vector<Line> lines_of(const std::vector<Record>& records) {
  return lines_of(records, {}, {});
}

RC_GTEST_PROP(IntervalOfMedian, holds_the_middle_and_lies_within_the_values, ()) {
  const auto values = *rc::gen::nonEmpty<std::vector<std::int16_t>>();
  const std::vector<double> numbers(values.begin(), values.end());
  const Within<double> within = interval_of_median(numbers);
  const double median = median_of(numbers);
  RC_ASSERT(within.least <= median);
  RC_ASSERT(median <= within.most);
  RC_ASSERT(std::ranges::find(numbers, within.least) != numbers.end());
  RC_ASSERT(std::ranges::find(numbers, within.most) != numbers.end());
}

// From tables of the sign test, at 95 %: the index of the value, from either end.
TEST(IntervalOfMedian, leaves_out_as_many_values_as_it_may) {
  struct Row {
    std::size_t count;
    double least;
  };
  for (const auto& [count, least] : {Row{1, 1},
                                     Row{5, 1},
                                     Row{6, 1},
                                     Row{8, 1},
                                     Row{9, 2},
                                     Row{12, 3},
                                     Row{20, 6},
                                     Row{30, 10},
                                     Row{3000, 1446}}) {
    std::vector<double> values;
    for (std::size_t i = 1; i <= count; ++i) {
      values.push_back(static_cast<double>(i));
    }
    const Within<double> within = interval_of_median(values);
    EXPECT_EQ(within.least, least) << count;
    EXPECT_EQ(within.most, static_cast<double>(count + 1) - least) << count;
  }
}

/// The commits of a series, in its order.
std::string order_in(const Series& series) {
  std::string names;
  for (const Point& point : series.points) {
    names += point.commit.name;
  }
  return names;
}

TEST(Lines, put_commits_in_the_order_that_git_knows_else_by_time) {
  std::vector<Record> records = {
      record_of("c", 3, {3}), record_of("a", 1, {1}), record_of("b", 2, {2})};
  EXPECT_EQ(order_in(lines_of(records).at(0).series.at(0)), "abc");
  records[1].commit.position.reset();
  EXPECT_EQ(order_in(lines_of(records).at(0).series.at(0)), "cba");
}

TEST(Lines, have_one_order_for_all_their_series) {
  std::vector<Record> records = {
      record_of("a", 1, {1}), record_of("b", 2, {2}), record_of("c", 3, {3})};
  records[2].commit.position.reset();
  records[2].benchmarks[0].name = "another/real_time";
  const auto lines = lines_of(records);
  ASSERT_EQ(lines.front().series.size(), 2U);
  // By time, although git knows the positions of all commits of this series.
  EXPECT_EQ(order_in(lines.front().series[1]), "ba");
}

TEST(Lines, count_several_records_of_a_commit_as_one) {
  const auto lines = lines_of({record_of("a", 1, {1, 2}), record_of("a", 1, {9})});
  const auto& points = lines.front().series.front().points;
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].repetitions, 3U);
  EXPECT_EQ(points[0].seconds, 2);
  EXPECT_EQ(points[0].counters.at("peer"), 3);
}

TEST(Lines, never_mix_machines_compilers_flags_or_programs) {
  std::vector<Record> records(5, record_of("a", 1, {1}));
  records[1].machine.kernel = "7";
  records[2].compiler = "GNU 13";
  records[3].flags = "-O3";
  records[4].program = "another";
  EXPECT_EQ(lines_of(records).size(), 5U);
  records[1] = records[0];
  records[1].machine.load = 50;  // The same machine under load.
  EXPECT_EQ(lines_of(records).size(), 4U);
}

TEST(Lines, name_no_change_where_only_the_machine_changed) {
  std::vector<Record> records;
  for (int i = 0; i < 20; ++i) {
    records.push_back(record_of("c" + std::to_string(i), i, {i < 10 ? 1.0 : 2.0}));
    records.back().machine.kernel = i < 10 ? "6" : "7";
  }
  for (const Line& line : lines_of(records)) {
    EXPECT_TRUE(line.series.front().changes.empty());
  }
  for (Record& record : records) {
    record.machine.kernel = "6";
  }
  const auto changes = lines_of(records).front().series.front().changes;
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes.front().index, 10U);
}

TEST(Lines, say_why_a_benchmark_has_no_point) {
  Record record = record_of("a", 1, {});
  record.benchmarks.front().error = "could not";
  const auto lines = lines_of({record});
  EXPECT_TRUE(lines.front().series.front().points.empty());
  EXPECT_EQ(lines.front().series.front().error, "could not");
}

TEST(Lines, have_the_benchmarks_that_a_pattern_matches) {
  const std::vector<Record> records = {record_of("a", 1, {1})};
  EXPECT_EQ(lines_of(records, {"b*"}, {}).size(), 1U);
  EXPECT_EQ(lines_of(records, {"x", "*real*"}, {}).size(), 1U);
  EXPECT_TRUE(lines_of(records, {"b"}, {}).empty());
}

}  // namespace
}  // namespace lastref::perf
