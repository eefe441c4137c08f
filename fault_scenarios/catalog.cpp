#include <algorithm>

#include "fault_scenarios/scenarios.hpp"

namespace lastref::harness {

const std::vector<Scenario>& catalog() {
  static const std::vector<Scenario> all = [] {
    std::vector<Scenario> scenarios = {
        an_array_is_mapped_by_another_process(),
        an_array_travels(),
        two_workers_let_go_at_once(),
        the_same_array_is_sent_again(),
        clean_up_comes_twice(),
        a_forced_clean_up(),
        the_parent_is_killed(),
        a_worker_forwards_an_array(),
        views_of_a_file_travel(),
        a_full_first_dump_goes_elsewhere(),
        a_full_dump_leaves_nothing(),
        no_inode_is_left_for_a_dump(),
        a_file_may_not_be_so_long(),
        shared_memory_is_forbidden(),
        shared_memory_becomes_forbidden(),
        an_outsider_unlinks(),
        an_outsider_plants(),
        two_managers_share_a_context(),
        sweeps_meet_a_live_tree(),
        a_dead_tree_is_reclaimed(),
        a_pid_is_reused(),
        a_relative_folder_is_made_absolute(),
        a_dead_worker_fails_the_call(),
        a_hundred_thousand_tasks(),
        a_message_is_longer_than_a_pipe(),
        a_pool_in_a_worker(),
        a_pool_is_aborted_twice_at_once(),
        a_result_cannot_be_sent(),
        a_stranger_keeps_no_pipe_alive(),
        a_task_keeps_its_array(),
        a_task_throws(),
        the_parent_of_busy_workers_is_killed(),
        the_tracker_of_a_job_is_killed(),
        twenty_tasks_in_two_workers(),
        two_jobs_in_two_threads(),
        a_terminal_interrupts_a_job(),
        canary_always_fails(),
        a_folder_goes_with_what_is_in_it(),
        a_huge_folder_keeps_nobody_waiting(),
        what_is_gone_is_clean(),
        a_forgotten_name_begins_anew(),
        counts_wait_for_every_announcement(),
        a_holder_is_killed(),
        root_and_tracker_are_killed(),
        the_root_is_killed(),
        the_tracker_is_killed(),
        the_tracker_is_killed_at_the_last_release(),
        a_busy_sender_lets_go(),
        a_reference_travels(),
        loky_clients_are_served(),
        the_root_leaves_first(),
        names_of_any_bytes(),
        unknown_and_malformed_messages(),
        a_second_tracker_gives_way(),
        a_tracker_is_deaf_to_interrupts(),
        a_stopped_tracker_blocks_no_release(),
        release_against_register(),
        two_holders_release_at_once(),
        a_hundred_thousand_names(),
        a_stranger_keeps_nothing_alive(),
        a_stranger_keeps_no_dead_tree_alive(),
        a_forked_child_speaks_for_itself(),
        threads_share_a_client(),
        a_forgotten_name_stays(),
        each_type_for_real(),
        the_last_process_leaves_each_type(),
        the_last_words_of_the_dead_count(),
    };
    std::ranges::sort(scenarios, {}, &Scenario::name);
    return scenarios;
  }();
  return all;
}

}  // namespace lastref::harness
