// Scenarios of arrays that travel through files, and their temporary folders.
//
// A file is named like its scenario, or like what its scenarios have in common.
#pragma once

#include <vector>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

Scenario a_context_begins_again();
Scenario a_forced_clean_up();
Scenario a_forked_child_has_no_manager();
Scenario a_mapped_file_is_replaced();
Scenario a_new_file_is_mapped_through_a_link();
Scenario a_relative_folder_is_made_absolute();
Scenario a_worker_forwards_an_array();
Scenario a_worker_reduces_as_it_was_told();
Scenario an_array_is_mapped_by_another_process();
Scenario an_array_travels();
Scenario an_exit_meets_a_dump();
Scenario an_outsider_changes_a_file_on_its_way();
Scenario an_outsider_plants();
Scenario an_outsider_replaces_what_was_made();
Scenario an_outsider_unlinks_files_and_folder();
Scenario arrays_come_and_go();
Scenario clean_up_comes_twice();
Scenario files_are_warmed_up();
Scenario others_may_rename_the_folder();
Scenario the_parent_is_killed();
Scenario the_same_array_is_sent_again();
Scenario two_managers_share_a_context();
Scenario two_threads_send_one_array();
Scenario two_workers_let_go_at_once();
Scenario views_of_a_file_travel();
Scenario what_has_gone_is_forgotten();
Scenario what_is_small_travels_by_value();

/// All of them.
std::vector<Scenario> arrays_scenarios();

}  // namespace lastref::harness
