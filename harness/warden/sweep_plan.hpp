// sweep_plan: chooses the faults of `lastref run --sweep`: which, and at which points of a clean
// run.
//
// Most calls of a program are those of its loader, its locale and its end. Faults there say little
// about the program. Chosen are calls on names below given folders, on pipes and sockets, and those
// that make processes, threads or descriptors; of equal calls of one process the first.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "harness/warden/points.hpp"
#include "harness/warden/tree_fault.hpp"

namespace lastref::harness::warden {

struct SweepPlan {
  /// One of each point, then the next one of each: a sweep that is cut short has tried all points.
  std::vector<TreeFault> faults;
  std::size_t points = 0;                            ///< Chosen ones
  std::map<std::string, std::size_t> left_out = {};  ///< Points, by the reason
};

/// The frequent calls that a sweep watches as well.
const std::vector<std::string>& calls_of_sweep();

/// @param folders  absolute, without a slash at the end
SweepPlan plan_sweep(const std::vector<Point>& points, const std::vector<std::string>& folders);

}  // namespace lastref::harness::warden
