// Look: what one oracle saw of one run.
//
// A total of runs says nothing about looking. An oracle that was asked and had nothing before it
// has shown nothing, and one that was waived has not even been asked.
#pragma once

#include <cstdint>
#include <string_view>

namespace lastref::harness {

/// Why an oracle does not judge a run.
enum class Waiver : std::uint8_t {
  none,
  has_fault,       ///< It judges runs in which nothing struck that may be noticed,
  has_order,       ///< or nobody's order was changed.
  two_faults,      ///< Whoever would have told of the one may have been stopped by the other.
  fails_for_ever,  ///< Not everything that is true can be told.
  has_error,       ///< A call failed that it takes to clean up: what stays is for the next start.
  whole_tree,      ///< Nobody lived who could do it at once: all were killed,
  last_tracker,    ///< or the tracker was, when no root was there to start another.
  no_promise,      ///< A protocol without a ledger promises nothing past its tracker's death.
  next_start,      ///< The scenario or the ambient leaves it to the next start.
  ambient,         ///< The ambient makes it another promise.
  no_fault,        ///< It judges runs by what others came to that had no fault.
};

inline constexpr Waiver last_waiver = Waiver::no_fault;

/// For reports: "the whole tree was killed".
std::string_view name_of(Waiver waiver) noexcept;

struct Look {
  std::uint32_t seen = 0;    ///< Things that could have been wrong: counts, names, crossings.
  std::uint32_t filled = 0;  ///< Those of them that were not nothing: a count above zero.
  Waiver waiver = Waiver::none;

  bool operator==(const Look&) const = default;
};

}  // namespace lastref::harness
