#include "bench/perf/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>

namespace lastref::perf {
namespace {

/// Twice the rank of each value, from 2 on. Equal values share the mean of their ranks, so ranks
/// are doubled to be whole numbers.
std::vector<std::size_t> doubled_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t at) { return values[at]; });
  std::vector<std::size_t> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      ++end;
    }
    for (std::size_t at = begin; at < end; ++at) {
      ranks[order[at]] = begin + 1 + end;
    }
    begin = end;
  }
  return ranks;
}

double sum_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// The probability of each sum if a coin decides for every rank whether it is included.
std::vector<double> sums_by_coin(std::span<const std::size_t> ranks) {
  std::vector<double> chances(std::accumulate(ranks.begin(), ranks.end(), std::size_t{1}));
  chances[0] = 1;
  std::size_t highest = 0;
  for (const std::size_t rank : ranks) {
    highest += rank;
    for (std::size_t sum = highest;; --sum) {
      chances[sum] = (chances[sum] + (sum >= rank ? chances[sum - rank] : 0)) / 2;
      if (sum == 0) {
        break;
      }
    }
  }
  return chances;
}

/// The probability of a deviation from the mean at least as large, on either side.
double two_sided_normal(double deviation, double variance) {
  const boost::math::normal_distribution<> normal;
  // Counts are discrete; half a step belongs to the value itself.
  const double steps = std::max(std::abs(deviation) - 0.5, 0.0);
  return variance > 0 ? std::min(1.0, 2 * cdf(complement(normal, steps / std::sqrt(variance)))) : 1;
}

/// For `count` ranks, the number of means of two that an interval leaves out at either end, plus 1;
/// 0 if it cannot leave out any.
std::size_t means_left_out(std::size_t count, double tail) {
  if (count > exact_max) {
    const auto n = static_cast<double>(count);
    const double mean = n * (n + 1) / 4;
    const double deviation = std::sqrt(n * (n + 1) * (2 * n + 1) / 24);
    const boost::math::normal_distribution<> normal;
    return static_cast<std::size_t>(std::max(mean + quantile(normal, tail) * deviation, 0.0));
  }
  std::vector<std::size_t> ranks(count);
  std::iota(ranks.begin(), ranks.end(), std::size_t{1});
  const std::vector<double> chances = sums_by_coin(ranks);
  double below = 0;
  std::size_t left_out = 0;
  while (left_out < chances.size() && below + chances[left_out] <= tail) {
    below += chances[left_out++];
  }
  return left_out;
}

double drawn_median(std::span<const double> values,
                    std::vector<double>& drawn,
                    std::mt19937_64& chance) {
  std::uniform_int_distribution<std::size_t> place(0, values.size() - 1);
  for (double& each : drawn) {
    each = values[place(chance)];
  }
  return median_of(drawn);
}

}  // namespace

Evidence signed_rank_test(std::span<const double> differences) {
  std::vector<double> sizes;
  std::vector<bool> are_above;
  for (const double difference : differences) {
    if (difference != 0) {
      sizes.push_back(std::abs(difference));
      are_above.push_back(difference > 0);
    }
  }
  const std::vector<std::size_t> ranks = doubled_ranks(sizes);
  std::size_t above = 0;
  std::size_t all = 0;
  double squares = 0;
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    above += are_above[at] ? ranks[at] : 0;
    all += ranks[at];
    squares += static_cast<double>(ranks[at]) * static_cast<double>(ranks[at]);
  }
  const bool is_above = above > all - above;
  if (ranks.size() > exact_max) {
    const double deviation = static_cast<double>(above) - static_cast<double>(all) / 2;
    return {.p = two_sided_normal(deviation / 2, squares / 16), .is_above = is_above};
  }
  const std::vector<double> chances = sums_by_coin(ranks);
  const double tail = sum_of(std::span(chances).first(std::min(above, all - above) + 1));
  return {.p = std::min(1.0, 2 * tail), .is_above = is_above};
}

double signed_rank_p(std::span<const double> differences) {
  return signed_rank_test(differences).p;
}

double least_signed_rank_p(std::size_t count) {
  return std::min(1.0, std::ldexp(2.0, -static_cast<int>(count)));
}

std::size_t least_count_for(double confidence) {
  std::size_t count = 1;
  while (least_signed_rank_p(count) > 1 - confidence) {
    ++count;
  }
  return count;
}

Estimate centre_of(std::span<const double> differences, double confidence) {
  std::vector<double> means;
  means.reserve(differences.size() * (differences.size() + 1) / 2);
  for (std::size_t one = 0; one < differences.size(); ++one) {
    for (std::size_t other = one; other < differences.size(); ++other) {
      means.push_back((differences[one] + differences[other]) / 2);
    }
  }
  std::ranges::sort(means);
  Estimate estimate{.middle = median_of(means)};
  const std::size_t left_out = means_left_out(differences.size(), (1 - confidence) / 2);
  if (left_out > 0 && left_out <= means.size()) {
    estimate.interval = {.low = means[left_out - 1], .high = means[means.size() - left_out]};
  }
  return estimate;
}

double median_of(std::span<const double> values) {
  if (values.empty()) {
    return 0;
  }
  std::vector<double> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return sorted.size() % 2 == 1 ? *middle
                                : (*middle + *std::max_element(sorted.begin(), middle)) / 2;
}

Estimate ratio_of_medians(std::span<const double> a,
                          std::span<const double> b,
                          double confidence,
                          std::uint64_t seed) {
  if (a.empty() || b.empty()) {
    return {.middle = 1};
  }
  const double middle = median_of(b) / median_of(a);
  if (std::min(a.size(), b.size()) < least_count_for(confidence)) {
    return {.middle = middle};
  }
  // A hundred draws should lie outside each bound, unless that takes too many draws.
  constexpr double draws_max = 20'000;
  const auto draws = static_cast<std::size_t>(std::min(200 / (1 - confidence), draws_max));
  std::mt19937_64 chance(seed);
  std::vector<double> of_a(a.size());
  std::vector<double> of_b(b.size());
  std::vector<double> ratios(draws);
  for (double& ratio : ratios) {
    const double below = drawn_median(a, of_a, chance);
    ratio = drawn_median(b, of_b, chance) / below;
  }
  std::ranges::sort(ratios);
  const auto left_out = static_cast<std::size_t>((1 - confidence) / 2 * static_cast<double>(draws));
  return {.middle = middle,
          .interval = {.low = ratios[left_out], .high = ratios[draws - 1 - left_out]}};
}

std::vector<double> holm(std::span<const double> each_p) {
  std::vector<std::size_t> order(each_p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t at) { return each_p[at]; });
  std::vector<double> corrected(each_p.size());
  double highest = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto left = static_cast<double>(order.size() - place);
    highest = std::max(highest, std::min(1.0, each_p[order[place]] * left));
    corrected[order[place]] = highest;
  }
  return corrected;
}

double rate_at_most(std::size_t events, std::size_t trials, double confidence) {
  if (events >= trials) {
    return 1;
  }
  return boost::math::binomial_distribution<>::find_upper_bound_on_p(
      static_cast<double>(trials), static_cast<double>(events), 1 - confidence);
}

double chance_of_at_least(std::size_t events, std::size_t trials, double rate) {
  if (events == 0) {
    return 1;
  }
  if (events > trials) {
    return 0;
  }
  const boost::math::binomial_distribution<> law(static_cast<double>(trials), rate);
  return cdf(complement(law, static_cast<double>(events) - 1));
}

}  // namespace lastref::perf
