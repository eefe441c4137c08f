#include "fault_scenarios/caches/caches.hpp"

namespace lastref::harness {

std::vector<Scenario> caches_scenarios() {
  return {
      a_cache_has_no_inode(),
      a_cache_has_no_space_for_slots(),
      a_cache_is_full(),
      a_cache_is_preloaded_during_use(),
      a_cache_is_preserved_during_use(),
      a_cache_may_not_be_so_long(),
      a_cache_meets_a_full_disk(),
      a_cache_that_grows_is_mapped_once(),
      a_copying_disk_is_full(),
      a_durable_cache(),
      a_file_cache_of_one_process(),
      a_folder_has_no_space(),
      a_forked_child_shares_a_cache(),
      a_hostile_file_is_not_loaded(),
      a_stopped_writer_holds_nobody_up(),
      an_empty_value_is_a_value(),
      an_outsider_cuts_a_cache_off(),
      an_outsider_replaces_a_cache(),
      an_outsider_unlinks_a_cache(),
      the_maker_of_a_cache_is_killed(),
      threads_share_a_cache(),
      two_caches_sweep_at_once(),
      two_workers_race_for_the_last_space(),
      two_workers_share_a_cache(),
      two_writers_of_one_slot(),
      what_ends_waits_for_who_is_in_it(),
  };
}

}  // namespace lastref::harness
