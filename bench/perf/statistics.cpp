#include "bench/perf/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/binomial.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>

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

/// The probability of each sum if a coin decides for every rank whether it is included.
std::vector<double> sums_by_coin(std::span<const std::size_t> ranks) {
  std::vector<double> chances(std::accumulate(ranks.begin(), ranks.end(), std::size_t{1}));
  chances[0] = 1;
  std::size_t highest = 0;
  for (const std::size_t rank : ranks) {
    highest += rank;
    for (std::size_t sum = highest + 1; sum-- > 0;) {
      chances[sum] = (chances[sum] + (sum >= rank ? chances[sum - rank] : 0)) / 2;
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

// The rank-sum test counts wins: of all pairs of a value of the smaller side and one of the other
// side, those in which the former is larger. Equal values are half a win, so doubled wins are whole
// numbers.

/// Equal values of both sides.
struct Level {
  std::size_t count = 0;
  std::size_t of_few = 0;
};

struct Places {
  std::vector<Level> levels = {};  ///< from the lowest on
  std::size_t few = 0;
  std::size_t many = 0;

  std::size_t count() const noexcept { return few + many; }
};

Places places_of(std::span<const double> few, std::span<const double> many) {
  std::vector<std::pair<double, bool>> all;
  for (const double value : few) {
    all.emplace_back(value, true);
  }
  for (const double value : many) {
    all.emplace_back(value, false);
  }
  std::ranges::sort(all);
  Places places{.few = few.size(), .many = many.size()};
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (at == 0 || all[at].first != all[at - 1].first) {
      places.levels.emplace_back();
    }
    ++places.levels.back().count;
    places.levels.back().of_few += all[at].second ? 1U : 0U;
  }
  return places;
}

std::size_t doubled_wins(const Places& places) {
  std::size_t below = 0;
  std::size_t wins = 0;
  for (const Level& level : places.levels) {
    const std::size_t of_many = level.count - level.of_few;
    wins += level.of_few * (2 * below + of_many);
    below += of_many;
  }
  return wins;
}

/// Without equal values all doubled wins are even.
std::size_t step_of(const Places& places) {
  return std::ranges::all_of(places.levels, [](const Level& level) { return level.count == 1; })
             ? 2
             : 1;
}

/// Whether counting takes at most `steps_max` steps, some hundredths of a second. A double can hold
/// the number of ways for a thousand values.
bool can_be_counted(const Places& places, std::size_t wins) {
  constexpr double steps_max = 4e8;
  constexpr std::size_t values_max = 1000;
  const std::size_t width = wins / step_of(places) + 1;
  const double steps = static_cast<double>(places.count()) * static_cast<double>(places.few) *
                       static_cast<double>(width);
  return places.count() <= values_max && steps <= steps_max;
}

/// The number of ways to choose `few` of all values; infinity if it is too large for a double.
double ways_to_choose(std::size_t few, std::size_t many) {
  using boost::math::policies::ignore_error;
  using boost::math::policies::overflow_error;
  using boost::math::policies::policy;
  return boost::math::binomial_coefficient<double>(static_cast<unsigned>(few + many),
                                                   static_cast<unsigned>(few),
                                                   policy<overflow_error<ignore_error>>());
}

/// The probability of at most `wins` doubled wins, counted over all ways to choose the few of all
/// values.
double counted_chance(const Places& places, std::size_t wins) {
  const std::size_t step = step_of(places);
  const std::size_t width = wins / step + 1;
  // ways[k][w]: the number of ways to choose k values of the levels so far with w wins.
  std::vector<std::vector<double>> ways(places.few + 1, std::vector<double>(width));
  ways[0][0] = 1;
  std::size_t seen = 0;
  for (const Level& level : places.levels) {
    std::vector<double> choices(level.count + 1);
    for (std::size_t chosen = 0; chosen <= level.count; ++chosen) {
      choices[chosen] = ways_to_choose(chosen, level.count - chosen);
    }
    const std::size_t end = seen + level.count;
    // Start at the highest k, so that the entries of lower k are still those of the levels before.
    // If more values are not chosen than the many are, no way leads on.
    const std::size_t least = end - std::min(end, places.many);
    for (std::size_t k = std::min(places.few, end) + 1; k-- > least;) {
      for (std::size_t chosen = 1; chosen <= std::min(level.count, k); ++chosen) {
        const std::size_t before = k - chosen;
        if (before > seen) {
          continue;
        }
        const std::size_t more = chosen * (2 * (seen - before) + level.count - chosen) / step;
        for (std::size_t w = more; w < width; ++w) {
          ways[k][w] += choices[chosen] * ways[before][w - more];
        }
      }
    }
    seen = end;
  }
  const std::vector<double>& wanted = ways[places.few];
  return std::accumulate(wanted.begin(), wanted.end(), 0.0) /
         ways_to_choose(places.few, places.many);
}

/// Each value has its own coin, which decides whether it is chosen. The logarithm of its odds is
/// `start` for the lowest value and falls by `slope` up to the highest.
struct Coins {
  double slope = 0;
  double start = 0;
};

struct Tossed {
  double chosen = 0;    ///< expected number of chosen values
  double sum = 0;       ///< expected sum of their places
  double variance = 0;  ///< of the number of chosen values
  double weight = 0;    ///< the logarithm of the sum of all ways' odds
};

/// The place of a level, from 0 to 1.
double place_of(const Places& places, std::size_t below, const Level& level) {
  return (static_cast<double>(below) + static_cast<double>(level.count) / 2) /
         static_cast<double>(places.count());
}

Tossed toss(const Places& places, const Coins& coins) {
  Tossed tossed;
  std::size_t below = 0;
  for (const Level& level : places.levels) {
    const double place = place_of(places, below, level);
    const double odds = coins.start - coins.slope * place;
    const double chance = 1 / (1 + std::exp(-odds));
    const auto count = static_cast<double>(level.count);
    tossed.chosen += count * chance;
    tossed.sum += count * chance * place;
    tossed.variance += count * chance * (1 - chance);
    tossed.weight += count * (std::max(odds, 0.0) + std::log1p(std::exp(-std::abs(odds))));
    below += level.count;
  }
  return tossed;
}

/// The point between `low` and `high` where `is_low` becomes false.
template <typename IsLow>
double end_of(double low, double high, IsLow is_low) {
  constexpr int halvings = 45;
  for (int halving = 0; halving < halvings; ++halving) {
    const double middle = (low + high) / 2;
    (is_low(middle) ? low : high) = middle;
  }
  return low;
}

/// An upper bound of the probability that the sum of places is as low as it is: Chernoff's bound,
/// given the number of chosen values. It holds for any coins; coins that expect exactly this sum
/// make it tight.
double bounded_chance(const Places& places) {
  constexpr double far = 40;  // e^-40 is negligible.
  const auto few = static_cast<double>(places.few);
  double sum = 0;
  std::size_t below = 0;
  for (const Level& level : places.levels) {
    sum += static_cast<double>(level.of_few) * place_of(places, below, level);
    below += level.count;
  }
  const auto coins_of = [&](double slope) {
    const double start = end_of(-far, slope + far, [&](double each) {
      return toss(places, {.slope = slope, .start = each}).chosen < few;
    });
    return Coins{.slope = slope, .start = start};
  };
  const double slope = end_of(0, far * static_cast<double>(places.count()), [&](double each) {
    return toss(places, coins_of(each)).sum > sum;
  });
  const Coins coins = coins_of(slope);
  const Tossed tossed = toss(places, coins);
  // An upper bound of the probability that exactly this number is chosen. Baillon, Cominetti and
  // Vaisman, A sharp uniform bound for the distribution of sums of Bernoulli trials (2016).
  const double as_many = std::min(1.0, 0.46883 / std::sqrt(tossed.variance));
  const auto log_factorial = [](std::size_t n) {
    return boost::math::lgamma(static_cast<double>(n) + 1);
  };
  const double all =
      log_factorial(places.count()) - log_factorial(places.few) - log_factorial(places.many);
  return std::min(
      1.0,
      std::exp(coins.slope * sum - coins.start * few + tossed.weight + std::log(as_many) - all));
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
  const std::span low = std::span(chances).first(std::min(above, all - above) + 1);
  const double tail = std::accumulate(low.begin(), low.end(), 0.0);
  return {.p = std::min(1.0, 2 * tail), .is_above = is_above};
}

double least_signed_rank_p(std::size_t count) {
  return std::min(1.0, std::ldexp(2.0, -static_cast<int>(count)));
}

std::size_t least_count_for(double p) {
  std::size_t count = 1;
  while (least_signed_rank_p(count) > p) {
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
  std::vector<double> sorted(values.begin(), values.end());
  return sorted.empty() ? 0 : boost::math::statistics::median(sorted);
}

Estimate ratio_of_medians(std::span<const double> a,
                          std::span<const double> b,
                          double confidence,
                          std::uint64_t seed) {
  if (a.empty() || b.empty()) {
    return {.middle = 1};
  }
  const double middle = median_of(b) / median_of(a);
  if (std::min(a.size(), b.size()) < least_count_for(1 - confidence)) {
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

Evidence rank_sum_test(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) {
    return {};
  }
  const bool is_a_few = a.size() <= b.size();
  Places places = is_a_few ? places_of(a, b) : places_of(b, a);
  // On average half of all pairs are won. The tail is the one on this side of the mean.
  const std::size_t most = 2 * places.few * places.many;
  std::size_t wins = doubled_wins(places);
  const bool are_few_above = wins > most / 2;
  if (are_few_above) {
    std::ranges::reverse(places.levels);
    wins = most - wins;
  }
  // Ties can make the two tails unequal. At the mean itself neither is evidence.
  if (2 * wins == most) {
    return {};
  }
  const double chance =
      can_be_counted(places, wins) ? counted_chance(places, wins) : bounded_chance(places);
  return {.p = std::min(1.0, std::max(2 * chance, least_rank_sum_p(a.size(), b.size()))),
          .is_above = are_few_above != is_a_few};
}

double least_rank_sum_p(std::size_t count_of_a, std::size_t count_of_b) {
  const double ways =
      ways_to_choose(std::min(count_of_a, count_of_b), std::max(count_of_a, count_of_b));
  // A p is never 0, even if it is too small for a double.
  return std::clamp(2 / ways, std::numeric_limits<double>::min(), 1.0);
}

}  // namespace lastref::perf
