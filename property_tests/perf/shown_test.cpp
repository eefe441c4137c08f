// What is shown of a history: figures, foreign names, plots, and the format of another page.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "bench/perf/figures.hpp"
#include "bench/perf/history.hpp"
#include "bench/perf/record.hpp"

namespace lastref::perf {
namespace {

Line line_of(const std::string& name, const std::vector<double>& seconds) {
  Series series{.benchmark = name, .points = {}, .changes = {}};
  for (const double each : seconds) {
    Point point;
    point.commit = {.name = std::string(40, 'a'), .time = 86400, .position = 1, .subject = name};
    point.commit.name.replace(0, 1, std::to_string(series.points.size()));
    point.seconds = each;
    point.within = {.least = each * 0.9, .most = each * 1.2};
    point.repetitions = 3;
    point.counters = {{"peer", 2.5}};
    series.points.push_back(point);
  }
  return {.program = "a_bench",
          .machine = {.processor = "P", .cores = 2, .kernel = "6", .governor = ""},
          .compiler = "GNU 12",
          .flags = "-O2",
          .series = {series}};
}

TEST(Figures, have_four_digits_and_a_unit) {
  EXPECT_EQ(time_figure(0), "0 ns");
  EXPECT_EQ(time_figure(1.5e-10), "0.1500 ns");
  EXPECT_EQ(time_figure(12.345e-6), "12.35 µs");
  EXPECT_EQ(time_figure(0.99999e-6), "1.000 µs");
  EXPECT_EQ(time_figure(201e-9), "201.0 ns");
  EXPECT_EQ(time_figure(3), "3.000 s");
  EXPECT_EQ(time_figure(1e-6, {.least = 0.9e-6, .most = 1200e-6}), "1.000 µs [0.9000, 1200]");
  EXPECT_EQ(figure(35.1e6), "35.10 M");
  EXPECT_EQ(figure(12345), "12.35 k");
  EXPECT_EQ(figure(-2e9), "-2.000 G");
}

TEST(Figures, tell_a_change_in_one_way) {
  EXPECT_EQ(change_figure(1.12), "+12.0 %");
  EXPECT_EQ(change_figure(0.925), "−7.5 %");
  EXPECT_EQ(change_figure(2.5), "×2.50");
  EXPECT_EQ(change_figure(1.9, {.least = 1.5, .most = 2.5}), "+90.0 % [+50.0 %, +150.0 %]");
  EXPECT_EQ(change_figure(2.1, {.least = 1.9, .most = 2.5}), "×2.10 [×1.90, ×2.50]");
}

TEST(Figures, name_days_and_commits) {
  EXPECT_EQ(moment_of(1714557600), "2024-05-01T10:00:00Z");
  EXPECT_EQ(day_of(0), "1970-01-01");
  EXPECT_EQ(short_commit(std::string(40, 'a')), std::string(10, 'a'));
  EXPECT_EQ(short_commit(std::string(40, 'a') + "-modified"), "aaaaaaaaaa-modified");
  EXPECT_EQ(short_commit("v1.2-a-long-name-of-the-user"), "v1.2-a-long-name-of-the-user");
}

RC_GTEST_PROP(Ticks, are_a_few_between_the_ends, ()) {
  const double least = *rc::gen::inRange(0, 100'000) * 1e-3;
  const double most = least + *rc::gen::inRange(1, 100'000) * 1e-4;
  const auto ticks = ticks_between(least, most);
  RC_ASSERT(ticks.size() >= 2U);
  RC_ASSERT(ticks.size() <= 7U);
  RC_ASSERT(ticks.front() > least - 1e-9);
  RC_ASSERT(ticks.back() < most + 1e-9);
}

RC_GTEST_PROP(PlotOf, any_times_has_only_numbers, ()) {
  const auto times = *rc::gen::nonEmpty<std::vector<std::uint16_t>>();
  const double unit = *rc::gen::element(1e-12, 1e-9, 1e-3, 1e3);
  std::vector<double> seconds;
  for (const std::uint16_t time : times) {
    seconds.push_back(time * unit);
  }
  const std::string plot = plot_of(line_of("b", seconds).series.front());
  RC_ASSERT(plot.find("nan") == std::string::npos);
  RC_ASSERT(plot.find("inf") == std::string::npos);
}

TEST(Export, is_what_the_other_page_reads) {
  const std::vector<Line> lines = {line_of("b", {2e-9})};
  const std::string text = exported(lines, {.page = "https://example.org/x", .last_update = 5});
  const std::string start = "window.BENCHMARK_DATA = ";
  ASSERT_EQ(text.rfind(start, 0), 0U);
  EXPECT_EQ(nlohmann::json::parse(text.substr(start.size())), nlohmann::json::parse(R"({
    "lastUpdate": 5000,
    "repoUrl": "https://example.org/x",
    "entries": {"a_bench, P, 2 cores, Linux 6, no governor told, GNU 12, -O2": [{
      "commit": {
        "author": {"name": "", "username": ""},
        "committer": {"name": "", "username": ""},
        "id": "0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "message": "b",
        "timestamp": "1970-01-02T00:00:00Z",
        "url": "https://example.org/x/commit/0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
      "date": 86400000,
      "tool": "googlecpp",
      "benches": [{"name": "b", "value": 2.0, "range": "± 0.3", "unit": "ns/iter",
        "extra": "repetitions: 3\ninterval: [1.8, 2.4] ns\npeer: 2.5"}]}]}})"));
}

TEST(Export, has_commits_in_the_order_of_the_history) {
  std::vector<Line> lines = {line_of("b", {1e-9, 2e-9})};
  auto& points = lines.front().series.front().points;
  points[0].commit.time = 1;
  points[1].commit.time = 2;
  points[1].commit.position.reset();  // a user's own label, which git does not know
  const std::string text = exported(lines, {});
  const std::size_t first = text.find(points[0].commit.name);
  const std::size_t second = text.find(points[1].commit.name);
  EXPECT_LT(first, second);
}

}  // namespace
}  // namespace lastref::perf
