// Scenarios of what a tree that was killed whole leaves to the next start.
//
// A file is named like its scenario, or like what its scenarios have in common.
#pragma once

#include <vector>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

Scenario a_dead_tree_has_a_name_of_a_live_one();
Scenario a_dead_tree_is_reclaimed();
Scenario a_pid_is_reused();
Scenario sweeps_meet_a_live_tree();
Scenario the_dead_have_tried_a_location();

/// All of them.
std::vector<Scenario> sweep_scenarios();

}  // namespace lastref::harness
