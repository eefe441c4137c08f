// Scenarios of what must be found.
//
// A file is named like its scenario, or like what its scenarios have in common.
#pragma once

#include <vector>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

Scenario always_fails();

/// All of them.
std::vector<Scenario> canary_scenarios();

}  // namespace lastref::harness
