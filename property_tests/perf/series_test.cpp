#include "bench/perf/series.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "bench/perf/statistics.hpp"

namespace lastref::perf {
namespace {

Record record_of(const std::string& commit,
                 std::int64_t position,
                 const std::vector<double>& seconds) {
  Record record;
  record.commit = {.name = commit, .time = 100 - position, .position = position};
  record.machine = {.processor = "P", .cores = 2, .kernel = "6", .governor = ""};
  record.program = "a_bench";
  const std::size_t count = seconds.size();
  record.benchmarks = {{.name = "b/real_time",
                        .wall_seconds = seconds,
                        .processor_seconds = std::vector<double>(count, 1),
                        .iterations = std::vector<std::uint64_t>(count, 1),
                        .counters = {{"peer", {2, 4, 3}}}}};
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

TEST(Lines, put_commits_in_the_order_that_git_knows) {
  const auto lines =
      lines_of({record_of("c", 3, {3}), record_of("a", 1, {1}), record_of("b", 2, {2})});
  ASSERT_EQ(lines.size(), 1U);
  const auto& points = lines.front().series.front().points;
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].commit.name, "a");
  EXPECT_EQ(points[1].commit.name, "b");
  EXPECT_EQ(points[2].commit.name, "c");
}

TEST(Lines, go_by_time_where_git_does_not_know_all) {
  std::vector<Record> records = {record_of("a", 1, {1}), record_of("b", 2, {2})};
  records[0].commit.position.reset();
  const auto lines = lines_of(records);
  EXPECT_EQ(lines.front().series.front().points[0].commit.name, "b");
}

TEST(Lines, have_one_order_for_all_their_series) {
  std::vector<Record> records = {record_of("a", 1, {1}), record_of("b", 2, {2})};
  records.push_back(record_of("c", 3, {3}));
  records[2].commit.position.reset();
  records[2].benchmarks[0].name = "another";
  const auto lines = lines_of(records);
  const auto& series = lines.front().series;
  ASSERT_EQ(series.size(), 2U);
  // By time, although git knows the positions of all commits of this series.
  EXPECT_EQ(series[1].points[0].commit.name, "b");
  EXPECT_EQ(series[1].points[1].commit.name, "a");
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
