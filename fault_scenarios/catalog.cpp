#include <algorithm>

#include "fault_scenarios/scenarios.hpp"

namespace lastref::harness {

const std::vector<Scenario>& catalog() {
  static const std::vector<Scenario> all = [] {
    std::vector<Scenario> scenarios = {
        an_array_is_mapped_by_another_process(),
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
