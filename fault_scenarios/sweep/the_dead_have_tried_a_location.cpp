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
    stage.refute("M7: what the dead left where they tried a location goes", left + " is there");
  }
  return first_failure({parent.arrived("array"), parent.clean_up()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A process was killed while it tried whether a folder can be made: the next manager that "
          "looks for a location takes away what is left of that.",
      .rows = {"M1", "M7"},
      .roles = {{"root", root}},
      .outside_matrix = "its calls are those of arrays/array_round_trip",
  };
});

}  // namespace
}  // namespace lastref::harness
