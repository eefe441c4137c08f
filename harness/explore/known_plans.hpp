// Known plans: faults in which a bug or a probe was seen, and which no level of the gate comes to:
// two at calls that are in every clean run, one of a scenario that is outside of the matrix, or the
// only cell of its site in which it matters.
//
// Each is planned for a run of its own. Its first fault has to strike, or the gate says that it did
// not; the others may be at a call that only the bug makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lastref::harness {

struct KnownPlan {
  std::string scenario;
  std::vector<std::string> faults;         ///< As their to_text gives them.
  std::optional<std::uint64_t> seed = {};  ///< Of the order, if the usual one does not show it.
};

/// Every one linked into the program.
const std::vector<KnownPlan>& known_plans();

}  // namespace lastref::harness
