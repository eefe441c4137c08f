// sparkline: how a number went, in the height of a line of text.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lastref::perf {

/// A picture, which is SVG inside of a page; the scale is from the least value to the most, or the
/// twentieth part of the most if that is more. Where there is no value the line has a gap.
std::string sparkline_of(const std::vector<std::optional<double>>& values);

}  // namespace lastref::perf
