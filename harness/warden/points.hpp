// points: calls of a watched program by names that mean the same in its next run, as faults have
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/warden/striker.hpp"

namespace lastref::harness::warden {

/// "child.2/openat(/dev/shm/psm_*)#3"
struct Point {
  std::string role;
  std::string_view call;
  std::string object;  ///< A pattern
  std::uint64_t k = 0;

  std::string to_text() const;
};

struct Points {
  std::vector<Point> all;
  /// The first call by which the runs differ in more than a part of a name; empty: there is none.
  std::string difference;
};

/// Of the calls of one run, beside those of another run of the same program. A part of a name that
/// is another one there is any text here; behind a difference, too, so far as names are alike.
Points points_of(const std::vector<CallSeen>& run, const std::vector<CallSeen>& other);

}  // namespace lastref::harness::warden
