// Look: what one oracle checked in one run.
//
// A total of runs does not show what was checked. An oracle that ran but had nothing to check has
// shown nothing, and a waived one did not run.
#pragma once

#include <cstdint>
#include <string_view>

namespace lastref::harness {

/// Why an oracle does not judge a run.
enum class Waiver : std::uint8_t {
  none,
  has_fault,       ///< It judges only runs without a fault that may be noticed,
  has_order,       ///< or with an unchanged schedule.
  two_faults,      ///< The process to report one fault may have been stopped by the other.
  fails_for_ever,  ///< Not everything that is true can be reported.
  has_error,       ///< A call needed to clean up failed: the leftovers are for the next start.
  whole_tree,      ///< No process survived to clean up at once: all were killed,
  last_tracker,    ///< or the tracker was killed when no root was there to start another.
  no_promise,      ///< A protocol without a ledger promises nothing past its tracker's death.
  next_start,      ///< The scenario or the ambient leaves the clean-up to the next start.
  ambient,         ///< The ambient makes another promise.
  no_fault,        ///< It judges runs with a fault by the results of runs without one.
};

inline constexpr Waiver last_waiver = Waiver::no_fault;

/// For reports: "the whole tree was killed".
std::string_view name_of(Waiver waiver) noexcept;

struct Look {
  std::uint32_t seen = 0;    ///< Items that could have been wrong: counts, names, crossings.
  std::uint32_t filled = 0;  ///< Those of them that were not empty or zero: a count above zero.
  Waiver waiver = Waiver::none;

  bool operator==(const Look&) const = default;
};

}  // namespace lastref::harness
