// sweep_merge: one report on the folders of several sweeps, such as the shards of one.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <lastref/error.hpp>

#include "harness/report/report.hpp"

namespace lastref::harness {

/// It is incomplete if cells have no outcome, or were not injected.
///
/// @param folders  at least one, as `lastref run --output` made them
/// @param today    known findings are no violation until their day
///
/// Errors          invalid_argument: folders of sweeps with different lists; those of read_sweep.
Result<Report> merge_sweeps(const std::vector<std::string>& folders,
                            std::chrono::year_month_day today);

}  // namespace lastref::harness
