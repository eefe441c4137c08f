#include "bench/perf/scaling.hpp"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace lastref::perf {
namespace {

MeasuredBenchmark row(const std::string& name, double seconds) {
  return {.name = name,
          .wall_seconds = {seconds},
          .processor_seconds = {seconds / 2},
          .iterations = {1}};
}

RC_GTEST_PROP(ScalingTest, finds_the_exponent_of_any_power, ()) {
  const double exponent = *rc::gen::inRange(-30, 31) / 10.0;
  const double factor = *rc::gen::inRange(1, 1000) / 1000.0;
  const auto count = *rc::gen::inRange(2, 8);
  std::vector<SizedTime> times;
  for (int step = 0; step < count; ++step) {
    const double size = std::pow(10.0, step);
    times.push_back({.size = size, .seconds = factor * std::pow(size, exponent)});
  }
  RC_ASSERT(std::abs(exponent_of(times) - exponent) < 1e-9);
}

TEST(ScalingTest, groups_rows_by_all_but_their_last_argument) {
  const BenchmarkRun run{.context = {},
                         .benchmarks = {row("put/bytes:10/slots:100/manual_time", 4),
                                        row("put/bytes:10/slots:10/manual_time", 2),
                                        row("put/bytes:20/slots:10/manual_time", 2),
                                        row("other", 1),
                                        row("drop/8", 1),
                                        row("drop/64", 64)}};
  const auto all = scalings_of(run);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "put/bytes:10");
  EXPECT_EQ(all[0].unit, "slots");
  ASSERT_EQ(all[0].times.size(), 2U);
  EXPECT_EQ(all[0].times[0].size, 10);
  EXPECT_EQ(all[0].times[0].seconds, 2);  // By the clock that its name tells.
  EXPECT_NEAR(all[0].last, std::log10(2), 1e-9);
  EXPECT_EQ(all[1].name, "drop");
  EXPECT_EQ(all[1].unit, "");
  EXPECT_EQ(all[1].times[0].seconds, 0.5);
  EXPECT_NEAR(all[1].exponent, 2, 1e-9);
}

TEST(ScalingTest, the_last_step_tells_what_a_constant_hides) {
  const BenchmarkRun run{
      .context = {},
      .benchmarks = {
          row("a/1/real_time", 10), row("a/10/real_time", 10), row("a/100/real_time", 1000)}};
  const auto all = scalings_of(run);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_NEAR(all[0].exponent, 1, 1e-9);
  EXPECT_NEAR(all[0].last, 2, 1e-9);
}

TEST(ScalingTest, leaves_out_what_has_no_time_or_no_second_size) {
  const BenchmarkRun run{
      .context = {},
      .benchmarks = {
          row("a/1", 1),
          row("a/0", 1),
          row("a/10", 0),
          row("b/1/2", 1),
          row("b/1/2", 1),
          {.name = "c/1", .wall_seconds = {}, .processor_seconds = {}, .iterations = {}}}};
  EXPECT_TRUE(scalings_of(run).empty());
}

}  // namespace
}  // namespace lastref::perf
