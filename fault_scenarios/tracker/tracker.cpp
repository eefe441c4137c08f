#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {

std::vector<Scenario> tracker_scenarios() {
  return {
      a_busy_sender_lets_go(),
      a_failed_clean_up_is_over_when_its_name_is_forgotten(),
      a_folder_goes_with_what_is_in_it(),
      a_forgotten_name_begins_anew(),
      a_forgotten_name_is_held_again(),
      a_forgotten_name_stays(),
      a_fork_of_a_client_keeps_nothing_alive(),
      a_fork_of_the_root_keeps_no_dead_tree_alive(),
      a_forked_child_speaks_for_itself(),
      a_holder_is_killed(),
      a_huge_folder_keeps_nobody_waiting(),
      a_hundred_thousand_names(),
      a_lock_is_taken_while_the_tree_ends(),
      a_member_cannot_go_on(),
      a_name_is_wanted_while_it_goes(),
      a_record_is_cut_short(),
      a_reference_is_held_before_the_sender_lets_go(),
      a_relative_name_means_one_place(),
      a_second_tracker_gives_way(),
      a_stopped_tracker_blocks_no_release(),
      a_tracker_has_few_descriptors(),
      a_tracker_is_deaf_to_interrupts(),
      counts_wait_for_every_announcement(),
      each_type_is_cleaned_for_real(),
      fifteen_hundred_names_are_counted(),
      loky_clients_are_served(),
      names_of_any_bytes(),
      one_sender_fills_a_round(),
      release_against_register(),
      root_and_tracker_are_killed(),
      somebody_joins_while_the_tree_ends(),
      the_last_process_leaves_each_type(),
      the_last_words_of_the_dead_count(),
      the_ledger_is_taken_away(),
      the_root_is_killed(),
      the_root_leaves_first(),
      the_tracker_is_killed(),
      the_tracker_is_killed_at_the_last_release(),
      threads_share_a_client(),
      two_clients_of_one_process(),
      two_holders_release_at_once(),
      two_hundred_rounds_leave_what_two_leave(),
      unknown_and_malformed_messages_are_harmless(),
      what_is_gone_is_clean(),
  };
}

}  // namespace lastref::harness
