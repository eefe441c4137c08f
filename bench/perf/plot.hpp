// plot: draws a series as SVG inside a page.
#pragma once

#include <string>
#include <vector>

#include "bench/perf/series.hpp"

namespace lastref::perf {

/// Three to seven round numbers between `least` and `most`, for an axis.
std::vector<double> ticks_between(double least, double most);

/// Draws points with their intervals, the level before and after each change point, and its mark.
/// Colours are those of the page's classes. The series has at least one point.
std::string plot_of(const Series& series);

}  // namespace lastref::perf
