// page: a history as one self-contained HTML file, which loads nothing from a network.
#pragma once

#include <span>
#include <string>

#include "bench/perf/series.hpp"

namespace lastref::perf {

struct PageOptions {
  std::string title = "Speed over commits";
  ChangePointOptions changes = {};  ///< those that the lines were made with
};

/// The page is readable in light and dark mode and safe for any names.
std::string page_of(std::span<const Line> lines, const PageOptions& options);

}  // namespace lastref::perf
