// points: names calls of a watched program such that the names mean the same in its next run.
// Faults use these names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/warden/fault_injector.hpp"

namespace lastref::harness::warden {

/// "child.2/openat(/dev/shm/psm_*)#3"
struct Point {
  std::string role;
  std::string_view call;
  std::string object;  ///< A pattern
  std::uint64_t k = 0;
  std::vector<int> errors = {};  ///< Those that can happen there
  Site site = {};                ///< If a call of the other run has it, too

  std::string to_text() const;
};

struct Points {
  std::vector<Point> all;
  /// The first call by which the runs differ in more than a part of a name; empty: no such call.
  std::string difference;
  /// Of pairs of names. It increases with the number of names, not with its square.
  std::uint64_t comparisons = 0;
};

/// The points of one run, compared with another run of the same program. A part of a name that
/// differs in the other run is a wildcard. After a difference between the runs, names are matched
/// by similarity.
Points points_of(const std::vector<CallSeen>& run, const std::vector<CallSeen>& other);

}  // namespace lastref::harness::warden
