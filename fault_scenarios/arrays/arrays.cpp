#include "fault_scenarios/arrays/arrays.hpp"

namespace lastref::harness {

std::vector<Scenario> arrays_scenarios() {
  return {
      a_context_begins_again(),
      a_forced_clean_up(),
      a_forked_child_has_no_manager(),
      a_mapped_file_is_replaced(),
      a_new_file_is_mapped_through_a_link(),
      a_relative_folder_is_made_absolute(),
      a_worker_forwards_an_array(),
      a_worker_reduces_as_it_was_told(),
      an_array_is_mapped_by_another_process(),
      an_array_travels(),
      an_exit_meets_a_dump(),
      an_outsider_changes_a_file_on_its_way(),
      an_outsider_plants(),
      an_outsider_replaces_what_was_made(),
      an_outsider_unlinks_files_and_folder(),
      arrays_come_and_go(),
      clean_up_comes_twice(),
      files_are_warmed_up(),
      others_may_rename_the_folder(),
      the_parent_is_killed(),
      the_same_array_is_sent_again(),
      two_managers_share_a_context(),
      two_threads_send_one_array(),
      two_workers_let_go_at_once(),
      views_of_a_file_travel(),
      what_has_gone_is_forgotten(),
      what_is_small_travels_by_value(),
  };
}

}  // namespace lastref::harness
