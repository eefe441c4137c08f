#include "fault_scenarios/sweep/sweep.hpp"

namespace lastref::harness {

std::vector<Scenario> sweep_scenarios() {
  return {
      a_dead_tree_has_a_name_of_a_live_one(),
      a_dead_tree_is_reclaimed(),
      a_pid_is_reused(),
      sweeps_meet_a_live_tree(),
      the_dead_have_tried_a_location(),
  };
}

}  // namespace lastref::harness
