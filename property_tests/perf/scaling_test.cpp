#include "bench/perf/scaling.hpp"

#include <algorithm>
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
  const auto [all, left_out] = scalings_of({{},
                                            {row("put/bytes:10/slots:100/manual_time", 4),
                                             row("put/bytes:10/slots:10/manual_time", 2),
                                             row("put/bytes:20/slots:10/manual_time", 2),
                                             row("other", 1),
                                             row("zero/1", 1),
                                             row("zero/0", 1),
                                             row("word/one", 1),
                                             row("drop/8", 1),
                                             row("drop/64", 64)}});
  EXPECT_TRUE(left_out.empty());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "put/bytes:10/manual_time");
  EXPECT_EQ(all[0].unit, "slots");
  ASSERT_EQ(all[0].times.size(), 2U);
  EXPECT_EQ(all[0].times[0].size, 10);
  EXPECT_EQ(all[0].times[0].seconds, 2);  // By the clock that is part of its name.
  EXPECT_NEAR(all[0].last, std::log10(2), 1e-9);
  EXPECT_EQ(all[1].name, "drop");
  EXPECT_EQ(all[1].unit, "");
  EXPECT_EQ(all[1].times[0].seconds, 0.5);
  EXPECT_NEAR(all[1].exponent, 2, 1e-9);
}

TEST(ScalingTest, the_last_step_tells_what_a_constant_hides) {
  const auto all = scalings_of({{}, {row("a/1", 10), row("a/10", 10), row("a/100", 1000)}}).all;
  ASSERT_EQ(all.size(), 1U);
  EXPECT_NEAR(all[0].exponent, 1, 1e-9);
  EXPECT_NEAR(all[0].last, 2, 1e-9);
}

TEST(ScalingTest, names_what_has_a_size_and_no_time) {
  MeasuredBenchmark failed = row("c/1", 1);
  failed.error = "no space";
  const auto [all, left_out] = scalings_of({{},
                                            {row("a/1", 1),
                                             row("a/10", 10),
                                             row("a/100", 0),
                                             row("a/010", 11),
                                             {.name = "b/1"},
                                             failed,
                                             {.name = "d", .error = "it has no size"}}});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].times.size(), 2U);
  const LeftOut expected[] = {{"a/100", "it took no time"},
                              {"a/010", "its size is there under another name"},
                              {"b/1", "it took no time"},
                              {"c/1", "no space"}};
  EXPECT_TRUE(std::ranges::equal(left_out, expected));
}

RC_GTEST_PROP(ScalingTest, tells_apart_what_is_measured_in_different_ways, ()) {
  // As Google Benchmark appends them to the arguments.
  const auto how = *rc::gen::element<std::string>(
      "", "/min_time:0.500", "/min_warmup_time:0.500", "/iterations:3", "/repeats:3");
  const auto clock = *rc::gen::element<std::string>("", "/process_time", "/real_time");
  const auto behind = [&](unsigned threads) {
    return fmt::format("{}{}/threads:{}", how, clock, threads);
  };
  std::vector<MeasuredBenchmark> rows;
  for (const unsigned threads : {1U, 2U, 4U}) {
    for (const int size : {10, 100, 1000}) {
      rows.push_back(row(fmt::format("a/{}{}", size, behind(threads)), std::pow(size, threads)));
    }
  }
  const auto [all, left_out] = scalings_of({.context = {}, .benchmarks = rows});
  RC_ASSERT(left_out.empty());
  RC_ASSERT(all.size() == 3U);
  for (std::size_t at = 0; at < all.size(); ++at) {
    RC_ASSERT(std::abs(all[at].last - std::pow(2, at)) < 1e-9);
    RC_ASSERT(all[at].name == "a" + behind(1U << at));
  }
}

}  // namespace
}  // namespace lastref::perf
