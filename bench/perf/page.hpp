// page: a history as one self-contained HTML file, with plots as SVG, which loads nothing from a
// network.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/perf/series.hpp"

namespace lastref::perf {

/// Three to seven round numbers between `least` and `most`, for an axis.
std::vector<double> ticks_between(double least, double most);

/// Draws points with their intervals, the level before and after each change point, and its mark.
/// Colours are those of the page's classes. The series has at least one point.
std::string plot_of(const Series& series);

/// The page is readable in light and dark mode and safe for any names. `changes` are the options
/// that the lines were made with.
std::string page_of(std::span<const Line> lines, const ChangePointOptions& changes);

}  // namespace lastref::perf
