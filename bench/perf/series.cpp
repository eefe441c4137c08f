#include "bench/perf/series.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "bench/perf/statistics.hpp"

namespace lastref::perf {
namespace {

/// The values of a commit from which a point is made.
struct Gathered {
  Commit commit;
  std::vector<double> seconds;
  std::map<std::string, std::vector<double>> counters;
  double load = 0;
};

struct GatheredSeries {
  std::map<std::string, Gathered> by_commit;
  std::string error;
};

using Key = std::tuple<std::string, std::string, std::string, std::string>;

struct GatheredLine {
  Line line;
  std::map<std::string, GatheredSeries> by_benchmark;
};

void gather(GatheredSeries& series, const Record& record, const MeasuredBenchmark& benchmark) {
  if (!benchmark.error.empty()) {
    series.error = benchmark.error;
  }
  const std::vector<double>& seconds = seconds_that_count(benchmark);
  if (seconds.empty()) {
    return;
  }
  Gathered& gathered = series.by_commit[record.commit.name];
  gathered.commit = record.commit;
  gathered.load = std::max(gathered.load, record.machine.load);
  gathered.seconds.insert(gathered.seconds.end(), seconds.begin(), seconds.end());
  for (const auto& [name, values] : benchmark.counters) {
    auto& all = gathered.counters[name];
    all.insert(all.end(), values.begin(), values.end());
  }
}

Point point_of(const Gathered& gathered) {
  Point point{.commit = gathered.commit,
              .seconds = median_of(gathered.seconds),
              .within = interval_of_median(gathered.seconds),
              .repetitions = gathered.seconds.size(),
              .counters = {},
              .load = gathered.load};
  for (const auto& [name, values] : gathered.counters) {
    if (!values.empty()) {
      point.counters[name] = median_of(values);
    }
  }
  return point;
}

/// The places of all commits of a line, because several of its series are shown together.
std::map<std::string, std::size_t> places_in(const GatheredLine& line) {
  std::map<std::string, Commit> commits;
  for (const auto& [benchmark, series] : line.by_benchmark) {
    for (const auto& [name, gathered] : series.by_commit) {
      commits.emplace(name, gathered.commit);
    }
  }
  std::map<std::string, std::size_t> places;
  for (const Commit& commit : in_order(commits)) {
    places.emplace(commit.name, places.size());
  }
  return places;
}

Series series_of(const std::string& benchmark,
                 const GatheredSeries& gathered,
                 const std::map<std::string, std::size_t>& places,
                 const ChangePointOptions& options) {
  Series series{.benchmark = benchmark, .points = {}, .changes = {}, .error = gathered.error};
  for (const auto& [name, of_commit] : gathered.by_commit) {
    series.points.push_back(point_of(of_commit));
  }
  std::ranges::sort(
      series.points, {}, [&](const Point& point) { return places.at(point.commit.name); });
  std::vector<double> medians;
  for (const Point& point : series.points) {
    medians.push_back(point.seconds);
  }
  // This cannot fail, because the store only accepts finite numbers.
  series.changes = change_points_of(medians, options).value_or(std::vector<ChangePoint>());
  return series;
}

}  // namespace

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
  const std::size_t n = values.size();
  const auto count = static_cast<double>(n);
  double log_chance = -count * std::log(2.0);  // of exactly k coins; a plain double would underflow
  double outside = 0;
  std::size_t k = 0;
  while (k < n / 2) {
    const double more = outside + 2 * std::exp(log_chance);
    if (more > 1 - sureness_of_interval) {
      break;
    }
    outside = more;
    log_chance += std::log(static_cast<double>(n - k) / static_cast<double>(k + 1));
    ++k;
  }
  const std::size_t from_end = k == 0 ? 0 : k - 1;
  return {.least = values[from_end], .most = values[n - 1 - from_end]};
}

std::vector<Line> lines_of(std::span<const Record> records,
                           const Globs& globs,
                           const ChangePointOptions& options) {
  std::map<Key, GatheredLine> gathered;
  for (const Record& record : records) {
    const Key key{record.program, name_of(record.machine), record.compiler, record.flags};
    GatheredLine& all = gathered[key];
    all.line = {.program = record.program,
                .machine = record.machine,
                .compiler = record.compiler,
                .flags = record.flags,
                .series = {}};
    for (const MeasuredBenchmark& benchmark : record.benchmarks) {
      if (match(globs, benchmark.name)) {
        gather(all.by_benchmark[benchmark.name], record, benchmark);
      }
    }
  }
  std::vector<Line> lines;
  for (auto& [key, all] : gathered) {
    const auto places = places_in(all);
    for (const auto& [benchmark, of_it] : all.by_benchmark) {
      all.line.series.push_back(series_of(benchmark, of_it, places, options));
    }
    if (!all.line.series.empty()) {
      lines.push_back(std::move(all.line));
    }
  }
  return lines;
}

}  // namespace lastref::perf
