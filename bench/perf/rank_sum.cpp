// The rank-sum test of statistics.hpp, for unpaired values.
//
// It counts wins: of all pairs of a value of the smaller side and one of the other side, those in
// which the former is larger. Equal values are half a win, so doubled wins are whole numbers.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "bench/perf/statistics.hpp"

namespace lastref::perf {
namespace {

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
  double ways = 1;
  for (std::size_t at = 1; at <= few && std::isfinite(ways); ++at) {
    ways *= static_cast<double>(many + at) / static_cast<double>(at);
  }
  return ways;
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
    std::vector<double> choices(level.count + 1, 1);
    for (std::size_t chosen = 1; chosen <= level.count; ++chosen) {
      choices[chosen] = choices[chosen - 1] * static_cast<double>(level.count + 1 - chosen) /
                        static_cast<double>(chosen);
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
  double all = 0;
  for (std::size_t at = 1; at <= places.few; ++at) {
    all += std::log(static_cast<double>(places.many + at) / static_cast<double>(at));
  }
  return std::min(
      1.0,
      std::exp(coins.slope * sum - coins.start * few + tossed.weight + std::log(as_many) - all));
}

}  // namespace

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
  const double chance =
      can_be_counted(places, wins) ? counted_chance(places, wins) : bounded_chance(places);
  return {.p = std::min(1.0, std::max(2 * chance, least_rank_sum_p(a.size(), b.size()))),
          .is_above = are_few_above != is_a_few};
}

double rank_sum_p(std::span<const double> a, std::span<const double> b) {
  return rank_sum_test(a, b).p;
}

double least_rank_sum_p(std::size_t count_of_a, std::size_t count_of_b) {
  const double ways =
      ways_to_choose(std::min(count_of_a, count_of_b), std::max(count_of_a, count_of_b));
  // A p is never 0, even if it is too small for a double.
  return std::clamp(2 / ways, std::numeric_limits<double>::min(), 1.0);
}

}  // namespace lastref::perf
