// Scenarios of tasks in threads and worker processes.
//
// A file is named like its scenario, or like what its scenarios have in common.
#pragma once

#include <vector>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

Scenario a_call_is_aborted();
Scenario a_call_is_caught_up_with();
Scenario a_call_leaves_nothing();
Scenario a_dead_worker_fails_the_call();
Scenario a_failed_call_is_a_value();
Scenario a_forked_copy_leaves_a_pool_alone();
Scenario a_hundred_thousand_tasks();
Scenario a_large_message_gives_its_memory_back();
Scenario a_message_is_longer_than_a_pipe();
Scenario a_number_says_how_many_jobs();
Scenario a_pool_ends_while_a_batch_is_sent();
Scenario a_pool_in_a_worker();
Scenario a_pool_is_aborted_twice_at_once();
Scenario a_program_is_run_again_by_itself();
Scenario a_restarted_backend_has_its_options();
Scenario a_result_cannot_be_sent();
Scenario a_stranger_keeps_no_pipe_alive();
Scenario a_task_keeps_its_array();
Scenario a_task_throws();
Scenario a_terminal_interrupts_a_job();
Scenario a_worker_closes_its_pipes();
Scenario batches_follow_the_time_they_take();
Scenario each_batch_calls_back_once();
Scenario one_death_fails_all_that_is_on_its_way();
Scenario tasks_are_asked_for_as_they_are_run();
Scenario the_last_answer_of_a_dead_worker_counts();
Scenario the_parent_of_busy_workers_is_killed();
Scenario the_tracker_of_a_job_is_killed();
Scenario threads_run_batches();
Scenario twenty_tasks_in_two_workers();
Scenario two_jobs_in_two_threads();
Scenario two_sessions_of_one_process();
Scenario user_code_throws();
Scenario who_waits_keeps_nobody_waiting();

/// All of them.
std::vector<Scenario> jobs_scenarios();

}  // namespace lastref::harness
