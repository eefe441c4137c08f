// plot: a series as a picture, which is SVG inside of a page.
#pragma once

#include <string>
#include <vector>

#include "bench/perf/series.hpp"

namespace lastref::perf {

/// Values for an axis from the least to the most: round numbers, three to seven of them.
std::vector<double> ticks_between(double least, double most);

/// Points with their intervals, the level before and after each change point, and its mark. Colours
/// are those of the page's classes. Of a series with at least one point.
std::string plot_of(const Series& series);

}  // namespace lastref::perf
