#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// A leftover of a process that was killed between the making of a folder and its removal.
Status root(Stage& stage) {
  const std::string left = "/dev/shm/lastref_probe_of_the_dead";
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  stage.outside().make_folder(left, 0700);
  LASTREF_CHECK(parent.send("array", numbered()));
  if (stage.os().status_at(left)) {
    stage.refute("M7: leftovers of a tested location are removed", left + " still exists");
  }
  return first_failure({parent.arrived("array"), parent.clean_up()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A process was killed while it tested whether a folder can be made. The next manager "
          "that chooses a location removes the leftover.",
      .rows = {"M1", "M7"},
      .roles = {{"root", root}},
      .outside_matrix = "arrays/array_round_trip makes the same calls",
  };
});

}  // namespace
}  // namespace lastref::harness
