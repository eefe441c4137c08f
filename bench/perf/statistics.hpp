// statistics: rank tests, intervals of ratios, and corrections for multiple tests.
//
// The tests are distribution-free and exact to arbitrarily small p. Libraries stop at 0.0001, which
// is too large if a hundred benchmarks are to raise no false alarm. p is counted over all possible
// signs, or places, with the ties as they are. Where that would take too long:
// - With more than `exact_max` differences the normal distribution is as good.
// - With unpaired values it is not, because all but a few may be equal. There p is bounded from
//   above: it may be about ten times too large, and is never too small. That begins at 1,000 values
//   in all, or at 140 on each side if they differ little.
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

/// A best estimate, and the interval that contains the true value with the given confidence.
struct Estimate {
  double middle = 0;
  Interval interval = {};
};

/// The result of a two-sided test of values, or of b compared with a.
struct Evidence {
  double p = 1;
  bool is_above = false;  ///< Values are above 0, or b above a; else below, or p is 1.
};

inline constexpr std::size_t exact_max = 200;  ///< differences

/// Wilcoxon's signed-rank test, two-sided: the probability of ranks at least as one-sided as these
/// if each difference is as likely to have the other sign. Zeros carry no information and are left
/// out. Without differences p is 1.
Evidence signed_rank_test(std::span<const double> differences);
/// The least p that `count` differences can have.
double least_signed_rank_p(std::size_t count);

/// The least count of differences whose p can be as small as this. An interval with a confidence of
/// 1 - p needs as many values to be bounded.
std::size_t least_count_for(double p);

/// Hodges and Lehmann's centre of differences: the median of the means of all pairs of them. The
/// interval has the centres that the signed-rank test would not reject. It is infinite if there
/// are too few differences.
Estimate centre_of(std::span<const double> differences, double confidence);

/// Wilcoxon's and Mann and Whitney's rank-sum test, two-sided, for unpaired values: twice the
/// probability of ranks of a that are as low as these, or as high if they are above their mean. At
/// the mean p is 1.
Evidence rank_sum_test(std::span<const double> a, std::span<const double> b);
/// The least p that so many values can have, or the least positive double if it is smaller.
double least_rank_sum_p(std::size_t count_of_a, std::size_t count_of_b);

/// The mean of the middle two if the count is even; 0 without values.
double median_of(std::span<const double> values);

/// The median of b divided by that of a; all values are above 0. The interval is a bootstrap: the
/// same ratio for values drawn from each side with replacement. The same seed draws the same
/// values. The interval is infinite if a side has too few values: drawn medians lie between the
/// least and the greatest value of a side, but the true median does so only with a probability of
/// 1 - 2 / 2^count. So it needs as many values as centre_of.
Estimate ratio_of_medians(std::span<const double> a,
                          std::span<const double> b,
                          double confidence,
                          std::uint64_t seed);

/// Holm's correction. If each corrected p of at most alpha is accepted, the probability of any
/// false acceptance is at most alpha. Each p is at most 1; the order is that of the input.
std::vector<double> holm(std::span<const double> each_p);

/// Clopper and Pearson: the upper bound of the rate with this confidence, if there were `events`
/// events in `trials` trials. 1 without trials.
double rate_at_most(std::size_t events, std::size_t trials, double confidence);

}  // namespace lastref::perf
