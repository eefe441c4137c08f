// Look: what one oracle checked in one run.
//
// A total of runs does not show what was checked. An oracle that ran but had nothing to check has
// shown nothing, and a waived one did not run.
#pragma once

#include <cstdint>
#include <string_view>

#include "harness/platform/named_enum.hpp"

namespace lastref::harness {

/// Why an oracle does not judge a run.
LASTREF_NAMED_ENUM(Waiver,
                   (none, "judged"),
                   // It judges only runs without a fault that has a visible effect,
                   (has_fault, "a fault with a visible effect was injected"),
                   // or with an unchanged schedule.
                   (has_order, "the order was not the default one"),
                   // The process to report one fault may have been stopped by the other.
                   (two_faults, "more than one fault with a visible effect was planned"),
                   // Not everything that is true can be reported.
                   (fails_for_ever, "a call fails permanently"),
                   // A call needed to clean up failed: the leftovers are for the next start.
                   (has_error, "a call that the clean-up needs was made to fail"),
                   // No process survived to clean up at once: all were killed,
                   (whole_tree, "the whole tree was killed"),
                   // or the tracker was killed when no root was there to start another.
                   (last_tracker, "the tracker was killed, and no root could start another"),
                   // A protocol without a ledger promises nothing past its tracker's death.
                   (no_promise, "the tracker had no ledger"),
                   // The scenario or the ambient leaves the clean-up to the next start.
                   (next_start, "the scenario leaves it to the next start"),
                   // The ambient makes another promise.
                   (ambient, "another promise in this ambient"),
                   // It judges runs with a fault by the results of runs without one.
                   (no_fault, "no fault was planned"));

struct Look {
  std::uint32_t seen = 0;    ///< Items that could have been wrong: counts, names, crossings.
  std::uint32_t filled = 0;  ///< Those of them that were not empty or zero: a count above zero.
  Waiver waiver = Waiver::none;

  bool operator==(const Look&) const = default;
};

}  // namespace lastref::harness
