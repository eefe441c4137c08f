// Scenarios of files of cached bytes that many processes share.
//
// A file is named like its scenario, or like what its scenarios have in common.
#pragma once

#include <vector>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

Scenario a_cache_has_no_inode();
Scenario a_cache_has_no_space_for_slots();
Scenario a_cache_is_full();
Scenario a_cache_is_preloaded_during_use();
Scenario a_cache_is_preserved_during_use();
Scenario a_cache_may_not_be_so_long();
Scenario a_cache_meets_a_full_disk();
Scenario a_cache_that_grows_is_mapped_once();
Scenario a_copying_disk_is_full();
Scenario a_durable_cache();
Scenario a_file_cache_of_one_process();
Scenario a_folder_has_no_space();
Scenario a_forked_child_shares_a_cache();
Scenario a_hostile_file_is_not_loaded();
Scenario a_stopped_writer_holds_nobody_up();
Scenario an_empty_value_is_a_value();
Scenario an_outsider_cuts_a_cache_off();
Scenario an_outsider_replaces_a_cache();
Scenario an_outsider_unlinks_a_cache();
Scenario the_maker_of_a_cache_is_killed();
Scenario threads_share_a_cache();
Scenario two_caches_sweep_at_once();
Scenario two_workers_race_for_the_last_space();
Scenario two_workers_share_a_cache();
Scenario two_writers_of_one_slot();
Scenario what_ends_waits_for_who_is_in_it();

/// All of them.
std::vector<Scenario> caches_scenarios();

}  // namespace lastref::harness
