// Series: the times of a benchmark over commits, where only the commit differs.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/perf/change_points.hpp"
#include "bench/perf/globs.hpp"
#include "bench/perf/record.hpp"

namespace lastref::perf {

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
