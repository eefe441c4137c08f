#include "bench/perf/change_points.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <tuple>
#include <utility>

namespace lastref::perf {
namespace {

using Random = std::mt19937_64;
using Values = std::vector<double>;

/// From `begin` to `end`, excluding `end`.
struct Segment {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Split {
  std::size_t at = 0;  ///< index of the first value of the later part; 0: no split
  double energy = 0;   ///< how much the parts differ
};

double pairs(std::size_t count) {
  const auto of = static_cast<double>(count);
  return of * (of - 1) / 2;
}

/// The sums of the distances between the parts of a split, and within each part.
struct Distances {
  double between = 0;
  double earlier = 0;
  double later = 0;
};

double energy_of(const Distances& sums, std::size_t at, std::size_t behind) {
  const auto m = static_cast<double>(at);
  const auto n = static_cast<double>(behind);
  const double differ =
      2 * sums.between / (m * n) - sums.earlier / pairs(at) - sums.later / pairs(behind);
  return m * n / (m + n) * differ;
}

/// Where the later part of a split ends: at any value, so that a level that ends is found as well,
/// or at the last value, if there is a single step.
enum class Later : std::uint8_t { to_any, to_last };

/// The split that separates `values` best; `at` is relative to the first value.
Split best_split(std::span<const double> values, Later later) {
  Split best;
  std::vector<Distances> sums(values.size() + 1);  // of each split
  double within = 0;
  for (std::size_t last = 0; last < values.size(); ++last) {
    const std::size_t end = last + 1;
    double to_all = 0;
    for (std::size_t i = 0; i < last; ++i) {
      to_all += std::abs(values[i] - values[last]);
    }
    const bool counts = later == Later::to_any || end == values.size();
    double to_earlier = 0;
    for (std::size_t at = 1; at < end; ++at) {
      to_earlier += std::abs(values[at - 1] - values[last]);
      sums[at].between += to_earlier;
      sums[at].later += to_all - to_earlier;
      if (!counts || at < values_of_a_part || end - at < values_of_a_part) {
        continue;
      }
      const double energy = energy_of(sums[at], at, end - at);
      if (energy > best.energy) {
        best = {.at = at, .energy = energy};
      }
    }
    within += to_all;
    sums[end].earlier = within;
  }
  // If all values are the same, the energy is only rounding error.
  double scale = 0;
  for (const double value : values) {
    scale = std::max(scale, std::abs(value));
  }
  return best.energy > scale * 1e-12 ? best : Split{};
}

std::size_t below(Random& random, std::size_t limit) {
  return static_cast<std::size_t>(random() % limit);
}

void shuffle(std::span<double> values, Random& random) {
  for (std::size_t left = values.size(); left > 1; --left) {
    std::swap(values[left - 1], values[below(random, left)]);
  }
}

/// One search of a series, with its growing list of segments.
class Search {
 public:
  Search(std::span<const double> series, const ChangePointOptions& options)
      : series_(series), options_(options), random_(options.seed) {
    add({.begin = 0, .end = series.size()});
  }

  /// The next change point, and its p; 0: there are no more.
  std::pair<std::size_t, double> next() {
    const auto best =
        std::ranges::max_element(found_, {}, [](const Found& found) { return found.split.energy; });
    if (best->split.at == 0) {
      return {};
    }
    const double p = p_of(best->split.energy);
    if (p > options_.p) {
      return {};
    }
    const Segment whole = best->segment;
    const std::size_t at = whole.begin + best->split.at;
    found_.erase(best);
    add({.begin = whole.begin, .end = at});
    add({.begin = at, .end = whole.end});
    return {at, p};
  }

 private:
  struct Found {
    Segment segment;
    Split split;
  };

  std::span<const double> part(const Segment& segment) const {
    return series_.subspan(segment.begin, segment.end - segment.begin);
  }

  void add(const Segment& segment) {
    found_.push_back({.segment = segment, .split = best_split(part(segment), Later::to_any)});
  }

  /// How often random orders within the segments have a split as good; the actual order counts as
  /// one. Stops once that is too often, because more orders would not change the answer.
  double p_of(double energy) {
    const double rounding = 1e-9;
    const auto all = static_cast<double>(options_.orders + 1);
    std::size_t as_good = 1;
    for (std::size_t order = 0; order < options_.orders; ++order) {
      as_good += shuffled_energy() >= energy * (1 - rounding) ? 1U : 0U;
      if (static_cast<double>(as_good) > options_.p * all) {
        return 1;
      }
    }
    return static_cast<double>(as_good) / all;
  }

  double shuffled_energy() {
    double most = 0;
    for (const Found& found : found_) {
      const std::span<const double> values = part(found.segment);
      Values shuffled(values.begin(), values.end());
      shuffle(shuffled, random_);
      most = std::max(most, best_split(shuffled, Later::to_any).energy);
    }
    return most;
  }

  std::span<const double> series_;
  const ChangePointOptions& options_;
  Random random_;
  std::vector<Found> found_;
};

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void draw_again(std::span<const double> from, std::span<double> into, Random& random) {
  std::ranges::generate(into, [&] { return from[below(random, from.size())]; });
}

template <typename T>
Within<T> middle_95_percent(std::vector<T>& drawn) {
  std::ranges::sort(drawn);
  const std::size_t cut = drawn.size() / 40;
  return {.least = drawn[cut], .most = drawn[drawn.size() - 1 - cut]};
}

/// Measures two levels, with intervals from a bootstrap of the values of each.
void measure(ChangePoint& point,
             std::span<const double> before,
             std::span<const double> after,
             Random& random) {
  point.before = mean(before);
  point.after = mean(after);
  point.ratio = point.after / point.before;
  constexpr std::size_t draws = 400;
  std::vector<double> ratios;
  std::vector<std::size_t> places;
  Values again(before.size() + after.size());
  const std::span<double> earlier = std::span(again).first(before.size());
  const std::span<double> later = std::span(again).subspan(before.size());
  for (std::size_t draw = 0; draw < draws; ++draw) {
    draw_again(before, earlier, random);
    draw_again(after, later, random);
    ratios.push_back(mean(later) / mean(earlier));
    const std::size_t at = best_split(again, Later::to_last).at;
    places.push_back(point.index - before.size() + (at == 0 ? before.size() : at));
  }
  point.ratio_within = middle_95_percent(ratios);
  point.place = middle_95_percent(places);
  // All draws may lie on one side of the observed index.
  point.place.least = std::min(point.place.least, point.index);
  point.place.most = std::max(point.place.most, point.index);
}

/// Places each split again, between its neighbours: its segment contained other steps when it was
/// chosen.
void settle(std::span<const double> series, std::vector<ChangePoint>& points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : points[i - 1].index;
    const std::size_t end = i + 1 == points.size() ? series.size() : points[i + 1].index;
    const Split split = best_split(series.subspan(begin, end - begin), Later::to_last);
    if (split.at != 0) {
      points[i].index = begin + split.at;
    }
  }
}

}  // namespace

std::size_t values_min(const ChangePointOptions& options) {
  // A clean step in the middle has two orders that are as good: itself and its reverse, or, with an
  // odd number of values, two places.
  std::size_t values = 2 * values_of_a_part;
  const auto least = [](std::size_t of) {
    double orders = 1;
    for (std::size_t i = 1; i <= of / 2; ++i) {
      orders *= static_cast<double>(of + 1 - i) / static_cast<double>(i);
    }
    return 2 / orders;
  };
  while (least(values) > options.p) {
    ++values;
  }
  return values;
}

tl::expected<std::vector<ChangePoint>, NoSeries> change_points_of(
    std::span<const double> series, const ChangePointOptions& options) {
  const auto odd = std::ranges::find_if(series, [](double value) { return !std::isfinite(value); });
  if (odd != series.end()) {
    return tl::unexpected(NoSeries{static_cast<std::size_t>(odd - series.begin())});
  }
  std::vector<ChangePoint> points;
  if (series.size() < values_min(options)) {
    return points;
  }
  Search search(series, options);
  for (auto [at, p] = search.next(); at != 0; std::tie(at, p) = search.next()) {
    points.push_back({.index = at, .p = p});
  }
  std::ranges::sort(points, {}, &ChangePoint::index);
  settle(series, points);
  Random random(options.seed);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : points[i - 1].index;
    const std::size_t end = i + 1 == points.size() ? series.size() : points[i + 1].index;
    const std::size_t at = points[i].index;
    measure(points[i], series.subspan(begin, at - begin), series.subspan(at, end - at), random);
  }
  return points;
}

}  // namespace lastref::perf
