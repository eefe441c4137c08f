// statistics: rank tests, intervals of ratios, and what is left of certainty where many are judged.
//
// The tests promise what they promise of any noise, and as little of a p as is wanted; libraries
// stop at 0.0001, which is too much where a hundred benchmarks are to raise no false alarm. p is
// counted over all ways in which signs, or places, could have fallen, ties as they are. Where that
// would take too long:
// - of more than `exact_max` differences the normal law is as good;
// - of values that are no pairs, which may be all alike but for a few, it is not, and p is bounded
//   from above: it may be some ten times too large, and is never too small. That begins at 1,000
//   values in all, or from 140 at each side on where they differ little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace lastref::perf {

struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool contains(double value) const noexcept { return low <= value && value <= high; }
  bool lies_in(const Interval& other) const noexcept {
    return other.low <= low && high <= other.high;
  }
};

/// A best guess, and where the truth is with the confidence that was asked for.
struct Estimate {
  double middle = 0;
  Interval interval = {};
};

/// What a two-sided test says of values, or of b beside a.
struct Evidence {
  double p = 1;
  bool is_above = false;  ///< They are above 0, or b above a; else below, or p is 1.
};

inline constexpr std::size_t exact_max = 200;  ///< differences

/// Wilcoxon's signed-rank test, two-sided: how probable ranks as one-sided as these are if each
/// difference could have had the other sign as well. Zeros tell nothing and are left out; 1 of
/// none.
Evidence signed_rank_test(std::span<const double> differences);
double signed_rank_p(std::span<const double> differences);
/// The least p that so many differences can have.
double least_signed_rank_p(std::size_t count);

/// How many values an interval takes that is to have bounds with this confidence.
std::size_t least_count_for(double confidence);

/// Hodges and Lehmann's centre of differences: the median of the means of all two of them; and the
/// centres that the signed-rank test would not reject. Endless where there are too few.
Estimate centre_of(std::span<const double> differences, double confidence);

/// Wilcoxon's and Mann and Whitney's rank-sum test, two-sided, of values that are no pairs: twice
/// the chance of ranks of a's that are as low as these, or as high if they are above their mean.
Evidence rank_sum_test(std::span<const double> a, std::span<const double> b);
double rank_sum_p(std::span<const double> a, std::span<const double> b);
/// The least p that so many values can have; if there is no double for it, the least there is.
double least_rank_sum_p(std::size_t count_of_a, std::size_t count_of_b);

/// The mean of the middle two, if the count is even; 0 of none.
double median_of(std::span<const double> values);

/// The median of b over that of a, neither with a value that is not above 0; and a bootstrap
/// interval: the same of values drawn from each with replacement. The same seed draws the same.
/// Endless where a side has too few: what is drawn lies between its least and its greatest value,
/// and the truth does with a chance of 1 - 2 / 2^count only. So it takes as many as centre_of does.
Estimate ratio_of_medians(std::span<const double> a,
                          std::span<const double> b,
                          double confidence,
                          std::uint64_t seed);

/// Holm's correction: each p so that, if what is at most alpha is believed, alpha is the chance
/// that anything at all is believed wrongly. Never more than 1, in the order given.
std::vector<double> holm(std::span<const double> each_p);

/// Clopper and Pearson: the rate that is not exceeded with this confidence, as the events say that
/// there were in so many trials. 1 of no trials.
double rate_at_most(std::size_t events, std::size_t trials, double confidence);

/// The chance of at least so many events, if each trial has one at this rate.
double chance_of_at_least(std::size_t events, std::size_t trials, double rate);

}  // namespace lastref::perf
