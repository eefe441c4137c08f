// history: writes a history in the format that github-action-benchmark keeps as data.js.
#pragma once

#include <cstdint>
#include <span>
#include <string>

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

}  // namespace lastref::perf
