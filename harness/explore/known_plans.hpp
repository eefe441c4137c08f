// Known plans: faults that once exposed a bug or a probe, and that no level of the gate generates:
// two faults at calls that are in every clean run, one of a scenario outside of the matrix, or the
// only cell of its site that matters.
//
// Each is a run of its own. Its first fault has to be injected, or the gate reports that it was
// not; the others may be at a call that only the bug makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lastref::harness {

struct KnownPlan {
  std::string scenario;
  std::vector<std::string> faults;         ///< In the format of to_text.
  std::optional<std::uint64_t> seed = {};  ///< Seed of the order, if the usual order does not show
                                           ///< it.
};

/// All plans linked into the program.
const std::vector<KnownPlan>& known_plans();

}  // namespace lastref::harness
