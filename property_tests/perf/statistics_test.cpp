// statistics: known values, values that are counted one by one, and properties of any samples.
#include "bench/perf/statistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>

#include <boost/math/special_functions/gamma.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace lastref::perf {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

std::vector<double> normal_values(std::size_t count, double mean, double deviation, unsigned seed) {
  std::mt19937_64 chance(seed);
  std::normal_distribution<double> law(mean, deviation);
  std::vector<double> values(count);
  std::ranges::generate(values, [&] { return law(chance); });
  return values;
}

double signed_rank_p(std::span<const double> differences) {
  return signed_rank_test(differences).p;
}

double rank_sum_p(std::span<const double> a, std::span<const double> b) {
  return rank_sum_test(a, b).p;
}

TEST(SignedRank, counts_signs) {
  EXPECT_DOUBLE_EQ(signed_rank_p(std::vector<double>{}), 1);
  EXPECT_DOUBLE_EQ(signed_rank_p(std::vector{0.0, 0.0}), 1);
  EXPECT_DOUBLE_EQ(signed_rank_p(std::vector{1.0, 2.0, 3.0, 4.0, 5.0}), 2.0 / 32);
  EXPECT_DOUBLE_EQ(signed_rank_p(std::vector{-1.0, 2.0, 3.0, 4.0, 5.0}), 4.0 / 32);
  EXPECT_DOUBLE_EQ(signed_rank_p(std::vector{-3.0, 2.0, 1.0, 4.0, 5.0}), 10.0 / 32);
  // The two values of equal magnitude share ranks 1 and 2.
  EXPECT_DOUBLE_EQ(signed_rank_p(std::vector{-1.0, 1.0, 3.0}), 6.0 / 8);
}

TEST(SignedRank, goes_where_libraries_stop) {
  std::vector<double> differences(100);
  std::iota(differences.begin(), differences.end(), 1.0);
  EXPECT_NEAR(signed_rank_p(differences) / std::ldexp(2, -100), 1, 1e-9);
  EXPECT_DOUBLE_EQ(least_signed_rank_p(100), std::ldexp(2, -100));
}

TEST(SignedRank, is_the_same_on_either_side_of_where_it_is_counted) {
  const std::vector<double> values = normal_values(exact_max + 1, 0.12, 1, 5);
  const double counted = signed_rank_p(std::span(values).first(exact_max));
  const double approximate = signed_rank_p(values);
  EXPECT_NEAR(std::log(approximate / counted), 0, 0.35) << counted << ' ' << approximate;
}

RC_GTEST_PROP(SignedRankProperties, sides_are_alike, (std::vector<double> values)) {
  std::vector<double> negated = values;
  std::ranges::transform(values, negated.begin(), std::negate<>());
  const double p = signed_rank_p(values);
  RC_ASSERT(p == signed_rank_p(negated));
  RC_ASSERT(p > 0);
  RC_ASSERT(p <= 1);
  RC_ASSERT(p >= least_signed_rank_p(values.size()) * (1 - 1e-9));
}

TEST(Centre, rejects_outside_of_its_interval_and_not_inside) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::vector<double> values = normal_values(15, 1, 2, seed);
    const Estimate centre = centre_of(values, 0.99);
    const auto p_at = [&](double where) {
      std::vector<double> moved = values;
      std::ranges::for_each(moved, [&](double& each) { each -= where; });
      return signed_rank_p(moved);
    };
    EXPECT_TRUE(centre.interval.contains(centre.middle));
    EXPECT_GT(p_at(centre.interval.low + 1e-9), 0.01);
    EXPECT_GT(p_at(centre.interval.high - 1e-9), 0.01);
    EXPECT_LE(p_at(centre.interval.low - 1e-9), 0.01);
    EXPECT_LE(p_at(centre.interval.high + 1e-9), 0.01);
  }
}

TEST(Centre, has_no_bounds_where_there_are_too_few) {
  const Estimate centre = centre_of(std::vector{1.0, 2.0, 4.0}, 0.95);
  EXPECT_DOUBLE_EQ(centre.middle, 2.25);
  EXPECT_TRUE(std::isinf(centre.interval.low));
  EXPECT_TRUE(std::isinf(centre.interval.high));
}

TEST(RatioOfMedians, covers_the_truth) {
  constexpr std::uint64_t trials = 200;
  std::mt19937_64 chance(3);
  std::lognormal_distribution<double> noise(0, 0.1);
  std::size_t covered = 0;
  for (std::uint64_t seed = 1; seed <= trials; ++seed) {
    std::vector<double> a(20);
    std::vector<double> b(20);
    std::ranges::generate(a, [&] { return noise(chance); });
    std::ranges::generate(b, [&] { return 1.2 * noise(chance); });
    covered += ratio_of_medians(a, b, 0.95, seed).interval.contains(1.2) ? 1U : 0U;
  }
  EXPECT_GE(covered, trials * 93 / 100);
}

TEST(RatioOfMedians, is_of_the_medians_and_the_same_for_the_same_seed) {
  const std::vector<double> a = {1, 1, 2, 3, 3, 100};
  const std::vector<double> b = {5, 5, 5, 5, 5, 5};
  const Estimate one = ratio_of_medians(a, b, 0.95, 1);
  const Estimate again = ratio_of_medians(a, b, 0.95, 1);
  EXPECT_DOUBLE_EQ(one.middle, 2);
  EXPECT_TRUE(std::isfinite(one.interval.low));
  EXPECT_DOUBLE_EQ(one.interval.low, again.interval.low);
  EXPECT_DOUBLE_EQ(one.interval.high, again.interval.high);
}

RC_GTEST_PROP(RatioOfMediansProperties, has_bounds_where_neither_side_has_too_few, ()) {
  const auto count_of_a = *rc::gen::inRange<std::size_t>(1, 16);
  const auto count_of_b = *rc::gen::inRange<std::size_t>(1, 16);
  const double confidence = *rc::gen::element(0.5, 0.9, 0.95, 0.999);
  const std::vector<double> a = normal_values(count_of_a, 100, 1, 1);
  const std::vector<double> b = normal_values(count_of_b, 100, 1, 2);
  const Interval interval = ratio_of_medians(a, b, confidence, 1).interval;
  // The probability that all values are on one side of the median: as many equal tosses of a coin.
  const double missed = std::ldexp(2, -static_cast<int>(std::min(count_of_a, count_of_b)));
  RC_ASSERT(std::isfinite(interval.low) == (missed <= 1 - confidence));
  RC_ASSERT(std::isfinite(interval.high) == (missed <= 1 - confidence));
}

TEST(RankSum, counts_places) {
  EXPECT_DOUBLE_EQ(rank_sum_p(std::vector{1.0, 2.0, 3.0}, std::vector{4.0, 5.0, 6.0}), 2.0 / 20);
  EXPECT_DOUBLE_EQ(rank_sum_p(std::vector{1.0, 2.0, 4.0}, std::vector{3.0, 5.0, 6.0}), 4.0 / 20);
  EXPECT_DOUBLE_EQ(rank_sum_p(std::vector{1.0, 1.0}, std::vector{1.0, 1.0}), 1);
  const std::vector<double> five = {0, 2, 3, 5, 5};
  const std::vector<double> four = {1, 4, 4, 4};
  EXPECT_DOUBLE_EQ(rank_sum_p(five, four), 1) << "the mean, with unequal tails";
  EXPECT_DOUBLE_EQ(rank_sum_p(four, five), 1);
  EXPECT_DOUBLE_EQ(rank_sum_p(std::vector<double>{}, std::vector{1.0}), 1);
  EXPECT_DOUBLE_EQ(least_rank_sum_p(3, 3), 2.0 / 20);
}

/// Doubled ranks, counted one by one.
std::vector<std::ptrdiff_t> counted_ranks(const std::vector<double>& values) {
  std::vector<std::ptrdiff_t> ranks(values.size());
  std::ranges::transform(values, ranks.begin(), [&](double value) {
    return std::ranges::count_if(values, [&](double each) { return each < value; }) +
           std::ranges::count_if(values, [&](double each) { return each <= value; }) + 1;
  });
  return ranks;
}

/// Over all ways to choose as many values as a has.
double counted_rank_sum_p(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all = a;
  all.insert(all.end(), b.begin(), b.end());
  const std::vector<std::ptrdiff_t> ranks = counted_ranks(all);
  const auto mean = static_cast<std::ptrdiff_t>(a.size() * (all.size() + 1));
  const auto from_mean = [&](std::uint32_t chosen) {
    std::ptrdiff_t sum = -mean;
    for (std::size_t at = 0; at < ranks.size(); ++at) {
      sum += (chosen >> at & 1U) == 1 ? ranks[at] : 0;
    }
    return sum;
  };
  const std::ptrdiff_t seen = from_mean((1U << a.size()) - 1);
  double ways = 0;
  double as_far = 0;
  for (std::uint32_t chosen = 0; chosen < 1U << all.size(); ++chosen) {
    if (static_cast<std::size_t>(std::popcount(chosen)) == a.size()) {
      const std::ptrdiff_t each = from_mean(chosen);
      ++ways;
      as_far += (seen <= 0 && each <= seen) || (seen >= 0 && each >= seen) ? 1 : 0;
    }
  }
  return std::min(1.0, 2 * as_far / ways);
}

std::vector<double> few_levels() {
  const auto count = *rc::gen::inRange<std::size_t>(1, 7);
  const auto levels = *rc::gen::inRange(1, 12);
  const auto values = *rc::gen::container<std::vector<int>>(count, rc::gen::inRange(0, levels));
  return {values.begin(), values.end()};
}

/// Over all signs of the ranks that the test uses.
double counted_signed_rank_p(std::vector<double> values) {
  std::erase(values, 0);
  std::vector<double> sizes(values.size());
  std::ranges::transform(values, sizes.begin(), [](double value) { return std::abs(value); });
  const std::vector<std::ptrdiff_t> ranks = counted_ranks(sizes);
  std::ptrdiff_t seen = 0;
  std::vector<std::ptrdiff_t> sums = {0};
  for (std::size_t value = 0; value < values.size(); ++value) {
    seen += values[value] > 0 ? ranks[value] : -ranks[value];
    for (std::size_t at = 0, count = sums.size(); at < count; ++at) {
      sums.push_back(sums[at] + ranks[value]);
      sums[at] -= ranks[value];
    }
  }
  const auto as_far = std::ranges::count_if(
      sums, [&](std::ptrdiff_t sum) { return std::abs(sum) >= std::abs(seen); });
  return static_cast<double>(as_far) / static_cast<double>(sums.size());
}

RC_GTEST_PROP(SignedRankProperties, small_samples_are_as_counted_one_by_one, ()) {
  std::vector<double> values;
  for (const std::vector<double>& some : {few_levels(), few_levels()}) {
    for (const double value : some) {
      values.push_back(value - 5);
    }
  }
  RC_ASSERT(std::abs(signed_rank_p(values) - counted_signed_rank_p(values)) < 1e-12);
}

RC_GTEST_PROP(RankSumProperties, small_samples_are_as_counted_one_by_one, ()) {
  const std::vector<double> a = few_levels();
  const std::vector<double> b = few_levels();
  RC_ASSERT(std::abs(rank_sum_p(a, b) - counted_rank_sum_p(a, b)) < 1e-12);
  RC_ASSERT(std::abs(rank_sum_p(a, b) - rank_sum_p(b, a)) < 1e-12);
}

/// `count` values; the `high` highest are 110 and all others 100.
struct TwoLevels {
  std::size_t count;
  std::size_t high;

  std::vector<double> values() const {
    std::vector<double> all(count, 100);
    std::fill_n(all.begin(), high, 110);
    return all;
  }
};

/// By the hypergeometric distribution.
double two_level_p(const TwoLevels& a, const TwoLevels& b) {
  const auto choose = [](std::size_t of, std::size_t chosen) {
    const auto logarithm = [](std::size_t n) {
      return boost::math::lgamma(static_cast<double>(n) + 1);
    };
    return logarithm(of) - logarithm(chosen) - logarithm(of - chosen);
  };
  const std::size_t high = a.high + b.high;
  const std::size_t count = a.count + b.count;
  if (a.high * count == high * a.count) {
    return 1;
  }
  const bool is_few = a.high * count < high * a.count;
  double chance = 0;
  for (std::size_t of_a = high - std::min(high, b.count); of_a <= std::min(high, a.count); ++of_a) {
    if (is_few ? of_a <= a.high : of_a >= a.high) {
      chance +=
          std::exp(choose(a.count, of_a) + choose(b.count, high - of_a) - choose(count, high));
    }
  }
  return std::min(1.0, 2 * chance);
}

TEST(RankSum, of_many_equals_is_not_the_normal_law) {
  const TwoLevels a{.count = 61, .high = 0};
  const TwoLevels b{.count = 1, .high = 1};
  EXPECT_NEAR(rank_sum_p(a.values(), b.values()), 2.0 / 62, 1e-12);
  const TwoLevels thousands{.count = 5000, .high = 0};
  EXPECT_NEAR(rank_sum_p(thousands.values(), b.values()), 2.0 / 5001, 1e-8);
}

RC_GTEST_PROP(RankSumProperties, is_never_too_small_and_exact_while_it_can_be_counted, ()) {
  const auto some = [](std::size_t counts_max) {
    const auto count = *rc::gen::inRange<std::size_t>(1, counts_max);
    return TwoLevels{.count = count, .high = *rc::gen::inRange<std::size_t>(0, count + 1)};
  };
  const auto counts_max = *rc::gen::element<std::size_t>(8, 80, 400, 1500);
  const TwoLevels a = some(counts_max);
  const TwoLevels b = some(counts_max);
  const double p = rank_sum_p(a.values(), b.values());
  const double exact = two_level_p(a, b);
  RC_ASSERT(p >= exact * (1 - 1e-6));
  RC_ASSERT(p >= least_rank_sum_p(a.count, b.count));
  if (std::max(a.count, b.count) <= 80) {
    RC_ASSERT(p <= exact * (1 + 1e-6));
  } else if (exact > 1e-300) {
    // Chernoff's bound is too large by a factor of the number of standard errors of the sum from
    // its mean.
    RC_ASSERT(p <= exact * 8 * (1 + std::sqrt(-std::log(exact))));
  }
}

TEST(RankSum, agrees_with_the_normal_law_where_values_are_many_and_differ) {
  for (const std::size_t count : {80U, 130U, 160U, 600U}) {
    std::vector<double> a(count);
    std::iota(a.begin(), a.end(), 0.0);
    std::vector<double> b = a;
    const auto of = static_cast<double>(count);
    // So that b's ranks are 4 standard errors too high.
    const double shift = 4 * std::sqrt((2 * of + 1) / 12);
    std::ranges::for_each(b, [&](double& each) { each += std::round(shift) + 0.5; });
    const double p = rank_sum_p(a, b);
    EXPECT_GT(p, 1e-5) << count;
    EXPECT_LT(p, 2e-3) << count;
  }
}

TEST(Holm, corrects_as_in_the_book) {
  EXPECT_THAT(holm(std::vector{0.01, 0.04, 0.03, 0.005}),
              ElementsAre(DoubleEq(0.03), DoubleEq(0.06), DoubleEq(0.06), DoubleEq(0.02)));
  EXPECT_TRUE(holm(std::vector<double>{}).empty());
}

RC_GTEST_PROP(HolmProperties, believes_no_more_than_without_and_no_less_than_bonferroni, ()) {
  const auto thousandths = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1001));
  std::vector<double> each_p;
  for (const int each : thousandths) {
    each_p.push_back(each / 1000.0);
  }
  const std::vector<double> corrected = holm(each_p);
  RC_ASSERT(corrected.size() == each_p.size());
  for (std::size_t at = 0; at < each_p.size(); ++at) {
    RC_ASSERT(corrected[at] >= each_p[at]);
    RC_ASSERT(corrected[at] <=
              std::min(1.0, each_p[at] * static_cast<double>(each_p.size())) + 1e-12);
    for (std::size_t other = 0; other < each_p.size(); ++other) {
      const bool keeps_order = each_p[at] > each_p[other] || corrected[at] <= corrected[other];
      RC_ASSERT(keeps_order);
    }
  }
}

TEST(Rate, is_bounded_as_in_tables) {
  EXPECT_NEAR(rate_at_most(0, 200, 0.95), 1 - std::pow(0.05, 1 / 200.0), 1e-9);
  EXPECT_NEAR(rate_at_most(3, 20, 0.95), 0.3437, 1e-4);
  EXPECT_DOUBLE_EQ(rate_at_most(5, 5, 0.95), 1);
  EXPECT_DOUBLE_EQ(rate_at_most(0, 0, 0.95), 1);
}

}  // namespace
}  // namespace lastref::perf
