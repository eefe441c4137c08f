// sparkline: a small chart of a number over time, as high as a line of text.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lastref::perf {

/// SVG inside a page. The scale covers the range from the least value to the greatest, but at least
/// a twentieth of the greatest. The line has a gap where a value is missing.
std::string sparkline_of(const std::vector<std::optional<double>>& values);

}  // namespace lastref::perf
