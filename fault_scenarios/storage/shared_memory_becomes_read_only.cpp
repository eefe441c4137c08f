#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const Array array = numbered();
  // The tracker keeps all permissions, because it has to clean up.
  LASTREF_CHECK(stage.product().lead());
  if (!stage.limits().obey_modes()) {
    return ok();
  }
  LASTREF_TRY(parent, Parent::make(stage));
  // The location is chosen, but becomes read-only before the folder is made.
  LASTREF_CHECK(parent.resources().resolve_temp_folder_name());
  LASTREF_CHECK(stage.start("worker"));
  stage.outside().change_mode(shared_memory_folder, 0555);
  const Status first = parent.send("array", array);
  stage.outside().change_mode(shared_memory_folder, 01777);
  LASTREF_CHECK(first);
  must_be_spare(stage, parent.last_file());
  await_arrival(stage, "array");
  LASTREF_CHECK(parent.arrived("array"));
  LASTREF_CHECK(parent.clean_up());
  LASTREF_CHECK(parent.begin("next"));
  LASTREF_CHECK(parent.send("next", array));
  // Read-only after the context's first dump.
  LASTREF_TRY(folder, parent.resources().resolve_temp_folder_name());
  stage.outside().change_mode(folder.path, 0500);
  const Status refused = parent.send("other", numbered(3));
  stage.outside().change_mode(folder.path, 0700);
  if (refused && stage.is_undisturbed()) {
    stage.refute("M1: a dump into a read-only folder is an error", "it was written to");
  } else if (!refused) {
    must_name_the_variable(stage, refused.error());
  }
  await_arrival(stage, "next");
  return first_failure({parent.arrived("next"), parent.clean_up()});
}

Status worker(Stage& stage) {
  return receive_arrays(stage, {"array", "next"});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "/dev/shm is chosen and then becomes read-only. The first dump of a context moves to the "
          "next location. A later dump is an error that names the variable to set.",
      .rows = {"M1"},
      .roles = {{"root", root}, {"worker", worker}},
      .failing_operations = {"reduce"},
      .kernel_only = true,
  };
});

}  // namespace
}  // namespace lastref::harness
