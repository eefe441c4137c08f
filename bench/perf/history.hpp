// history: what is shown of a history: a page with plots, and the format that
// github-action-benchmark keeps as data.js.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/perf/series.hpp"

namespace lastref::perf {

struct ExportOptions {
  std::string page = {};         ///< URL of the repository; empty: it has none
  std::int64_t last_update = 0;  ///< seconds since 1970
};

/// One suite for each line, with an entry for each commit. Times are in ns; the range is half of
/// the interval. The action removes the assignment and parses the rest as JSON, so nothing may
/// follow. Source: its README, and the file that it writes.
std::string exported(std::span<const Line> lines, const ExportOptions& options);

/// Three to seven round numbers between `least` and `most`, for an axis.
std::vector<double> ticks_between(double least, double most);

/// Draws points with their intervals, the level before and after each change point, and its mark.
/// Colours are those of the page's classes. The series has at least one point.
std::string plot_of(const Series& series);

/// A self-contained HTML file with plots as SVG, which loads nothing from a network. It is readable
/// in light and dark mode and safe for any names. `changes` are the options that the lines were
/// made with.
std::string page_of(std::span<const Line> lines, const ChangePointOptions& changes);

}  // namespace lastref::perf
