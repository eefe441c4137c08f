// series: the times of a benchmark over commits, where only the commit differs, and where they move
// to another level.
//
// Change points are found by E-divisive with means: a segment is split where the values before and
// after differ most, compared with the differences within each part. The split counts if few random
// orders of the same values have one that is as good. Then each part is a segment. Source: Matteson
// and James, "A nonparametric approach for multiple change point analysis of multivariate data";
// its use for speed: Daly et al., "The use of change point detection to identify software
// performance regressions in a continuous integration system".
//
// Difference: in Daly et al. the later part of a split extends to the end of its segment. Then a
// slowdown that is fixed later stays unseen in a history of thirty commits, however large it is.
//
// Common mistakes:
// - The rate of false alarms is that of a whole series without change, for any number of segments.
// - A short series shows nothing at all: eight values have too few orders. See values_min.
// - A single outlier is not a step, however far out it is; see values_of_a_part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/perf/google_benchmark.hpp"
#include "bench/perf/record.hpp"

namespace lastref::perf {

/// A range that is believed to contain a value, ends included.
template <typename T>
struct Within {
  T least{};
  T most{};

  bool operator==(const Within&) const = default;
};

struct ChangePoint {
  std::size_t index = 0;             ///< of the first value on the new level
  Within<std::size_t> place = {};    ///< of that index, at 95 %
  double before = 0;                 ///< mean of the values since the previous change point
  double after = 0;                  ///< mean of the values up to the next one
  double ratio = 1;                  ///< of after to before
  Within<double> ratio_within = {};  ///< at 95 %
  double p = 1;                      ///< how often chance alone gives a split as good
};

struct ChangePointOptions {
  double p = 0.01;           ///< maximum p of a change point
  std::uint64_t seed = 1;    ///< of the random orders: the same seed gives the same result
  std::size_t orders = 999;  ///< random orders per test
};

/// The minimum number of values on either side of a step.
inline constexpr std::size_t values_of_a_part = 2;

/// The minimum number of values in which a step can be found: with fewer, every p is above that of
/// the options.
std::size_t values_min(const ChangePointOptions& options);

/// From the first value of the level before a change point up to the end of the level after it.
inline std::pair<std::size_t, std::size_t> levels_at(std::span<const ChangePoint> points,
                                                     std::size_t at,
                                                     std::size_t values) {
  return {at == 0 ? 0 : points[at - 1].index,
          at + 1 == points.size() ? values : points[at + 1].index};
}

/// All change points, in order. The values are finite.
std::vector<ChangePoint> change_points_of(std::span<const double> series,
                                          const ChangePointOptions& options = {});

/// All measurements of one commit; several records of a commit are one point.
struct Point {
  Commit commit;
  double seconds = 0;          ///< per iteration: the median of the repetitions
  Within<double> within = {};  ///< interval of that median, at `sureness_of_interval`
  std::size_t repetitions = 0;
  std::map<std::string, double> counters;  ///< the median of each
  double load = 0;                         ///< the highest load
};

struct Series {
  std::string benchmark;
  std::vector<Point> points;         ///< in the order of the line's commits
  std::vector<ChangePoint> changes;  ///< Their indices are those of the points.
  std::string error = {};            ///< why the benchmark failed, the last time that it failed
};

/// Series that may be compared: they have the same program, machine, compiler and flags.
struct Line {
  std::string program;
  Machine machine;  ///< Its load has no meaning.
  std::string compiler;
  std::string flags;
  std::vector<Series> series;  ///< by name
};

/// For people: "unknown program", and "unknown compiler" and the flags.
std::string program_of(const Line& line);
std::string build_of(const Line& line);

/// The range of middle values that contains the true median with at least this probability, if
/// there are enough values. With fewer than six it is the range of all, with a lower probability.
inline constexpr double sureness_of_interval = 0.95;
Within<double> interval_of_median(std::vector<double> values);

/// Sorts by position if git knows that of all commits, else by commit time.
std::vector<Commit> in_order(const std::map<std::string, Commit>& by_name);

/// The series of the benchmarks that match. All series of a line have the same order of commits.
std::vector<Line> lines_of(std::span<const Record> records,
                           const Globs& globs,
                           const ChangePointOptions& options);

}  // namespace lastref::perf
