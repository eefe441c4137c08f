// page: a history as one HTML file that needs nothing else, and asks no network for anything.
#pragma once

#include <span>
#include <string>

#include "bench/perf/series.hpp"

namespace lastref::perf {

struct PageOptions {
  std::string title = "Speed over commits";
  ChangePointOptions changes = {};  ///< that the lines were made with
};

/// Readable in light and dark, with whatever names.
std::string page_of(std::span<const Line> lines, const PageOptions& options);

}  // namespace lastref::perf
