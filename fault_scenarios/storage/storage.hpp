// Scenarios of disks that are full or forbidden.
//
// A file is named like its scenario, or like what its scenarios have in common.
#pragma once

#include <vector>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

Scenario a_file_may_not_be_so_long();
Scenario a_full_dump_leaves_nothing();
Scenario a_full_first_dump_goes_elsewhere();
Scenario no_inode_is_left_for_a_dump();
Scenario shared_memory_becomes_forbidden();
Scenario shared_memory_is_forbidden();
Scenario two_threads_find_no_space();

/// All of them.
std::vector<Scenario> storage_scenarios();

}  // namespace lastref::harness
