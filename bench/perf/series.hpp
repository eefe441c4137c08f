// Series: how a benchmark went over commits, where nothing but the commit differs.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/perf/change_points.hpp"
#include "bench/perf/globs.hpp"
#include "bench/perf/record.hpp"

namespace lastref::perf {

/// All that was measured of one commit; several records of it are one.
struct Point {
  Commit commit;
  double seconds = 0;          ///< an iteration: the median of the repetitions
  Within<double> within = {};  ///< of that median, as sure as `sureness_of_interval`
  std::size_t repetitions = 0;
  std::map<std::string, double> counters;  ///< the median of each
  double load = 0;                         ///< the highest that there was
};

struct Series {
  std::string benchmark;
  std::vector<Point> points;         ///< in the order of the line's commits
  std::vector<ChangePoint> changes;  ///< Their indices are those of the points.
  std::string error = {};            ///< why it could not be done, the last time that it could not
};

/// What may be compared: one program, machine, compiler, and the same flags.
struct Line {
  std::string program;
  Machine machine;  ///< Its load says nothing.
  std::string compiler;
  std::string flags;
  std::vector<Series> series;  ///< by name
};

/// The values in the middle that hold the true median with this chance or a higher one, if there
/// are enough of them: of fewer than six it is all of them, and less sure.
inline constexpr double sureness_of_interval = 0.95;
Within<double> interval_of_median(std::vector<double> values);

/// By position where git knows that of all of them, else by the time at which they were made.
std::vector<Commit> in_order(const std::map<std::string, Commit>& by_name);

/// Series of the benchmarks that match; all commits of a line are in one order.
std::vector<Line> lines_of(std::span<const Record> records,
                           const Globs& globs,
                           const ChangePointOptions& options);

}  // namespace lastref::perf
