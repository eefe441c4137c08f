#include "bench/perf/sparkline.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/perf/figures.hpp"

namespace lastref::perf {
namespace {

// In pixels.
constexpr double width = 140;
constexpr double height = 18;
constexpr double margin = 3;

Within<double> scale_of(const std::vector<std::optional<double>>& values) {
  std::optional<Within<double>> all;
  for (const std::optional<double>& value : values) {
    if (value) {
      all = {.least = std::min(*value, all ? all->least : *value),
             .most = std::max(*value, all ? all->most : *value)};
    }
  }
  if (!all) {
    return {.least = 0, .most = 1};
  }
  const double size = std::max(std::abs(all->least), std::abs(all->most));
  const double lacking = (size == 0 ? 1 : size / 20) - (all->most - all->least);
  if (lacking > 0) {
    all->least -= lacking / 2;
    all->most += lacking / 2;
  }
  return *all;
}

}  // namespace

std::string sparkline_of(const std::vector<std::optional<double>>& values) {
  const Within<double> scale = scale_of(values);
  const auto steps = static_cast<double>(std::max<std::size_t>(values.size(), 2) - 1);
  // Hidden from screen readers: the figures next to the picture have the same information.
  std::string text = fmt::format(
      "<svg class=\"spark\" width=\"{}\" height=\"{}\" aria-hidden=\"true\">", width, height);
  std::string line;
  const auto end_line = [&] {
    if (!line.empty()) {
      text += fmt::format("<polyline class=\"trend\" points=\"{}\"/>", line);
      line.clear();
    }
  };
  std::string last;
  for (std::size_t at = 0; at < values.size(); ++at) {
    if (!values[at]) {
      end_line();
      continue;
    }
    const double x = margin + (width - 2 * margin) * static_cast<double>(at) / steps;
    const double share = (*values[at] - scale.least) / (scale.most - scale.least);
    const double y = height - margin - (height - 2 * margin) * share;
    line += fmt::format("{}{:.1f},{:.1f}", line.empty() ? "" : " ", x, y);
    last = fmt::format("<circle class=\"newest\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\"/>", x, y);
  }
  end_line();
  return text + last + "</svg>";
}

}  // namespace lastref::perf
