#include "fault_scenarios/jobs/jobs.hpp"

namespace lastref::harness {

std::vector<Scenario> jobs_scenarios() {
  return {
      a_call_is_aborted(),
      a_call_is_caught_up_with(),
      a_call_leaves_nothing(),
      a_dead_worker_fails_the_call(),
      a_failed_call_is_a_value(),
      a_forked_copy_leaves_a_pool_alone(),
      a_hundred_thousand_tasks(),
      a_large_message_gives_its_memory_back(),
      a_message_is_longer_than_a_pipe(),
      a_number_says_how_many_jobs(),
      a_pool_ends_while_a_batch_is_sent(),
      a_pool_in_a_worker(),
      a_pool_is_aborted_twice_at_once(),
      a_program_is_run_again_by_itself(),
      a_restarted_backend_has_its_options(),
      a_result_cannot_be_sent(),
      a_stranger_keeps_no_pipe_alive(),
      a_task_keeps_its_array(),
      a_task_throws(),
      a_terminal_interrupts_a_job(),
      a_worker_closes_its_pipes(),
      batches_follow_the_time_they_take(),
      each_batch_calls_back_once(),
      one_death_fails_all_that_is_on_its_way(),
      tasks_are_asked_for_as_they_are_run(),
      the_last_answer_of_a_dead_worker_counts(),
      the_parent_of_busy_workers_is_killed(),
      the_tracker_of_a_job_is_killed(),
      threads_run_batches(),
      twenty_tasks_in_two_workers(),
      two_jobs_in_two_threads(),
      two_sessions_of_one_process(),
      user_code_throws(),
      who_waits_keeps_nobody_waiting(),
  };
}

}  // namespace lastref::harness
