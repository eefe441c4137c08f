#include "bench/perf/series.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <tuple>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/special_functions/binomial.hpp>

#include "bench/perf/statistics.hpp"

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

/// The sums of the distances between the parts of a split, and within each part.
struct Distances {
  double between = 0;
  double earlier = 0;
  double later = 0;

  double energy(std::size_t earlier_count, std::size_t later_count) const {
    const auto m = static_cast<double>(earlier_count);
    const auto n = static_cast<double>(later_count);
    const double differ =
        2 * between / (m * n) - earlier / (m * (m - 1) / 2) - later / (n * (n - 1) / 2);
    return m * n / (m + n) * differ;
  }
};

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
      const double energy = sums[at].energy(at, end - at);
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

/// One search of a series, with its growing list of segments.
class ChangePointSearch {
 public:
  ChangePointSearch(std::span<const double> series, const ChangePointOptions& options)
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
    const Segment segment = best->segment;
    const std::size_t at = segment.begin + best->split.at;
    found_.erase(best);
    add({.begin = segment.begin, .end = at});
    add({.begin = at, .end = segment.end});
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
      for (std::size_t left = shuffled.size(); left > 1; --left) {
        std::swap(shuffled[left - 1], shuffled[below(random_, left)]);
      }
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
    const auto [begin, end] = levels_at(points, i, series.size());
    const Split split = best_split(series.subspan(begin, end - begin), Later::to_last);
    if (split.at != 0) {
      points[i].index = begin + split.at;
    }
  }
}

/// What was measured at a commit.
struct Gathered {
  Commit commit;
  MeasuredBenchmark all;
  double load = 0;
};

struct GatheredSeries {
  std::map<std::string, Gathered> by_commit;
  std::string error;
};

struct GatheredLine {
  Line line;
  std::map<std::string, GatheredSeries> by_benchmark;
  std::map<std::string, Commit> commits;  ///< of all series, because they are shown together
};

void gather(GatheredLine& line, const Record& record, const MeasuredBenchmark& benchmark) {
  GatheredSeries& series = line.by_benchmark[benchmark.name];
  series.error = benchmark.error.empty() ? series.error : benchmark.error;
  if (seconds_that_count(benchmark).empty()) {
    return;
  }
  line.commits.emplace(record.commit.name, record.commit);
  Gathered& gathered = series.by_commit[record.commit.name];
  gathered.commit = record.commit;
  gathered.load = std::max(gathered.load, record.machine.load);
  gathered.all.name = benchmark.name;
  append(gathered.all, benchmark);
}

Point point_of(const Gathered& gathered) {
  const std::vector<double>& seconds = seconds_that_count(gathered.all);
  Point point{.commit = gathered.commit,
              .seconds = median_of(seconds),
              .within = interval_of_median(seconds),
              .repetitions = seconds.size(),
              .counters = {},
              .load = gathered.load};
  for (const auto& [name, values] : gathered.all.counters) {
    point.counters[name] = median_of(values);
  }
  return point;
}

/// @param order   all commits of its line
Series series_of(const std::string& benchmark,
                 const GatheredSeries& gathered,
                 const std::vector<Commit>& order,
                 const ChangePointOptions& options) {
  Series series{.benchmark = benchmark, .points = {}, .changes = {}, .error = gathered.error};
  std::vector<double> medians;
  for (const Commit& commit : order) {
    if (const auto at = gathered.by_commit.find(commit.name); at != gathered.by_commit.end()) {
      medians.push_back(series.points.emplace_back(point_of(at->second)).seconds);
    }
  }
  series.changes = change_points_of(medians, options);
  return series;
}

}  // namespace

std::size_t values_min(const ChangePointOptions& options) {
  // A clean step in the middle has two orders that are as good: itself and its reverse, or, with an
  // odd number of values, two places.
  unsigned values = 2 * values_of_a_part;
  const auto least = [](unsigned of) {
    return 2 / boost::math::binomial_coefficient<double>(of, of / 2);
  };
  while (least(values) > options.p) {
    ++values;
  }
  return values;
}

std::vector<ChangePoint> change_points_of(std::span<const double> series,
                                          const ChangePointOptions& options) {
  std::vector<ChangePoint> points;
  if (series.size() < values_min(options)) {
    return points;
  }
  ChangePointSearch search(series, options);
  for (auto [at, p] = search.next(); at != 0; std::tie(at, p) = search.next()) {
    points.push_back({.index = at, .p = p});
  }
  std::ranges::sort(points, {}, &ChangePoint::index);
  settle(series, points);
  Random random(options.seed);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto [begin, end] = levels_at(points, i, series.size());
    const std::size_t at = points[i].index;
    measure(points[i], series.subspan(begin, at - begin), series.subspan(at, end - at), random);
  }
  return points;
}

std::vector<Commit> in_order(const std::map<std::string, Commit>& by_name) {
  std::vector<Commit> commits;
  for (const auto& [name, commit] : by_name) {
    commits.push_back(commit);
  }
  const bool git_knows = std::ranges::all_of(
      commits, [](const Commit& commit) { return commit.position.has_value(); });
  std::ranges::sort(commits, {}, [&](const Commit& commit) {
    return std::tuple(git_knows ? *commit.position : 0, commit.time, commit.name);
  });
  return commits;
}

Within<double> interval_of_median(std::vector<double> values) {
  std::ranges::sort(values);
  // The median lies outside the k-th value from an end if fewer than k of n coins fall that way.
  using boost::math::policies::discrete_quantile;
  using boost::math::policies::integer_round_up;
  using boost::math::policies::policy;
  const boost::math::binomial_distribution<double, policy<discrete_quantile<integer_round_up>>>
      coins(static_cast<double>(values.size()), 0.5);
  const auto k = static_cast<std::size_t>(quantile(coins, (1 - sureness_of_interval) / 2));
  const std::size_t from_end = k == 0 ? 0 : k - 1;
  return {.least = values[from_end], .most = values[values.size() - 1 - from_end]};
}

std::string program_of(const Line& line) {
  return line.program.empty() ? "unknown program" : line.program;
}

std::string build_of(const Line& line) {
  return (line.compiler.empty() ? "unknown compiler" : line.compiler) +
         (line.flags.empty() ? "" : ", " + line.flags);
}

std::vector<Line> lines_of(std::span<const Record> records,
                           const Globs& globs,
                           const ChangePointOptions& options) {
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Key, GatheredLine> gathered;
  for (const Record& record : records) {
    GatheredLine& line =
        gathered[Key(record.program, name_of(record.machine), record.compiler, record.flags)];
    line.line = {.program = record.program,
                 .machine = record.machine,
                 .compiler = record.compiler,
                 .flags = record.flags,
                 .series = {}};
    for (const MeasuredBenchmark& benchmark : record.benchmarks) {
      if (match(globs, benchmark.name)) {
        gather(line, record, benchmark);
      }
    }
  }
  std::vector<Line> lines;
  for (auto& [key, line] : gathered) {
    const std::vector<Commit> order = in_order(line.commits);
    for (const auto& [benchmark, series] : line.by_benchmark) {
      line.line.series.push_back(series_of(benchmark, series, order, options));
    }
    if (!line.line.series.empty()) {
      lines.push_back(std::move(line.line));
    }
  }
  return lines;
}

}  // namespace lastref::perf
