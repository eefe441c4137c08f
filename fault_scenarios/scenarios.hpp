// Every scenario, one function and one file each; catalog.cpp puts them in order.
#pragma once

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

Scenario an_array_is_mapped_by_another_process();
Scenario an_array_travels();
Scenario two_workers_let_go_at_once();
Scenario the_same_array_is_sent_again();
Scenario clean_up_comes_twice();
Scenario a_forced_clean_up();
Scenario the_parent_is_killed();
Scenario a_worker_forwards_an_array();
Scenario views_of_a_file_travel();
Scenario a_full_first_dump_goes_elsewhere();
Scenario a_full_dump_leaves_nothing();
Scenario no_inode_is_left_for_a_dump();
Scenario a_file_may_not_be_so_long();
Scenario shared_memory_is_forbidden();
Scenario shared_memory_becomes_forbidden();
Scenario an_outsider_unlinks();
Scenario an_outsider_plants();
Scenario two_managers_share_a_context();
Scenario sweeps_meet_a_live_tree();
Scenario a_dead_tree_is_reclaimed();
Scenario a_pid_is_reused();
Scenario a_relative_folder_is_made_absolute();
Scenario a_dead_worker_fails_the_call();
Scenario a_hundred_thousand_tasks();
Scenario a_message_is_longer_than_a_pipe();
Scenario a_pool_in_a_worker();
Scenario a_pool_is_aborted_twice_at_once();
Scenario a_result_cannot_be_sent();
Scenario a_stranger_keeps_no_pipe_alive();
Scenario a_task_keeps_its_array();
Scenario a_task_throws();
Scenario the_parent_of_busy_workers_is_killed();
Scenario the_tracker_of_a_job_is_killed();
Scenario twenty_tasks_in_two_workers();
Scenario two_jobs_in_two_threads();
Scenario a_terminal_interrupts_a_job();
Scenario canary_always_fails();
Scenario a_busy_sender_lets_go();
Scenario a_folder_goes_with_what_is_in_it();
Scenario a_huge_folder_keeps_nobody_waiting();
Scenario what_is_gone_is_clean();
Scenario a_forgotten_name_begins_anew();
Scenario counts_wait_for_every_announcement();
Scenario a_holder_is_killed();
Scenario root_and_tracker_are_killed();
Scenario the_root_is_killed();
Scenario the_tracker_is_killed();
Scenario the_tracker_is_killed_at_the_last_release();
Scenario a_reference_travels();
Scenario loky_clients_are_served();
Scenario the_root_leaves_first();
Scenario names_of_any_bytes();
Scenario unknown_and_malformed_messages();
Scenario a_second_tracker_gives_way();
Scenario a_tracker_is_deaf_to_interrupts();
Scenario a_stopped_tracker_blocks_no_release();
Scenario release_against_register();
Scenario two_holders_release_at_once();
Scenario a_hundred_thousand_names();
Scenario a_stranger_keeps_nothing_alive();
Scenario a_stranger_keeps_no_dead_tree_alive();
Scenario a_forked_child_speaks_for_itself();
Scenario threads_share_a_client();
Scenario a_forgotten_name_stays();
Scenario each_type_for_real();
Scenario the_last_process_leaves_each_type();
Scenario the_last_words_of_the_dead_count();

}  // namespace lastref::harness
