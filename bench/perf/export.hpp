// export: a history in the format that github-action-benchmark keeps as data.js.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bench/perf/series.hpp"

namespace lastref::perf {

struct ExportOptions {
  std::string page = {};         ///< of the repository; empty: it has none
  std::int64_t last_update = 0;  ///< seconds since 1970
};

/// One suite for each line, and in it an entry for each commit. Times are in ns; the range is half
/// of the interval. That action cuts off the assignment and reads the rest as JSON, so nothing may
/// follow. Source: its README, and the file that it writes.
std::string exported(std::span<const Line> lines, const ExportOptions& options);

}  // namespace lastref::perf
