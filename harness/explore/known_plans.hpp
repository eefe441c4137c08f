// Known plans: faults in which a bug was seen, and which no level of the gate comes to: two at
// calls that are in every clean run, or one of a scenario that is outside of the matrix.
//
// Each is planned for a run of its own. Its first fault has to strike, or the gate says that it did
// not; the others may be at a call that only the bug makes.
#pragma once

#include <string>
#include <vector>

namespace lastref::harness {

struct KnownPlan {
  std::string scenario;
  std::vector<std::string> faults;  ///< As their to_text gives them.
};

/// Every one linked into the program.
const std::vector<KnownPlan>& known_plans();

}  // namespace lastref::harness
