// Scenarios of names, references, and the daemon that counts them.
//
// A file is named like its scenario, or like what its scenarios have in common.
#pragma once

#include <vector>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

Scenario a_busy_sender_lets_go();
Scenario a_failed_clean_up_is_over_when_its_name_is_forgotten();
Scenario a_folder_goes_with_what_is_in_it();
Scenario a_forgotten_name_begins_anew();
Scenario a_forgotten_name_is_held_again();
Scenario a_forgotten_name_stays();
Scenario a_fork_of_a_client_keeps_nothing_alive();
Scenario a_fork_of_the_root_keeps_no_dead_tree_alive();
Scenario a_forked_child_speaks_for_itself();
Scenario a_holder_is_killed();
Scenario a_huge_folder_keeps_nobody_waiting();
Scenario a_hundred_thousand_names();
Scenario a_lock_is_taken_while_the_tree_ends();
Scenario a_member_cannot_go_on();
Scenario a_name_is_wanted_while_it_goes();
Scenario a_record_is_cut_short();
Scenario a_reference_is_held_before_the_sender_lets_go();
Scenario a_relative_name_means_one_place();
Scenario a_second_tracker_gives_way();
Scenario a_stopped_tracker_blocks_no_release();
Scenario a_tracker_has_few_descriptors();
Scenario a_tracker_is_deaf_to_interrupts();
Scenario a_tree_ends_without_its_folder();
Scenario a_tree_ends_without_its_ledger();
Scenario a_tree_ends_without_its_lock();
Scenario a_tree_ends_without_its_runtime_folder();
Scenario a_tree_ends_without_its_socket();
Scenario counts_wait_for_every_announcement();
Scenario each_type_is_cleaned_for_real();
Scenario fifteen_hundred_names_are_counted();
Scenario live_folders_are_locked();
Scenario loky_clients_are_served();
Scenario names_of_any_bytes();
Scenario one_sender_fills_a_round();
Scenario parts_are_removed_before_each_death();
Scenario parts_are_removed_before_each_join();
Scenario parts_are_removed_before_each_restart();
Scenario parts_are_removed_while_held();
Scenario release_against_register();
Scenario root_and_tracker_are_killed();
Scenario somebody_joins_while_the_tree_ends();
Scenario the_last_process_leaves_each_type();
Scenario the_last_words_of_the_dead_count();
Scenario the_root_is_killed();
Scenario the_root_leaves_first();
Scenario the_tracker_is_killed();
Scenario the_tracker_is_killed_at_the_last_release();
Scenario threads_share_a_client();
Scenario two_clients_of_one_process();
Scenario two_holders_release_at_once();
Scenario two_hundred_rounds_leave_what_two_leave();
Scenario unknown_and_malformed_messages_are_harmless();
Scenario what_is_gone_is_clean();

/// All of them.
std::vector<Scenario> tracker_scenarios();

}  // namespace lastref::harness
