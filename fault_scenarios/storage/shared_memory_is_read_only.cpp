#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const Array array = numbered();
  if (!stage.limits().obey_modes()) {
    return ok();
  }
  LASTREF_CHECK(stage.product().lead());
  stage.outside().change_mode(shared_memory_folder, 0555);
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(stage.start("worker"));
  LASTREF_CHECK(parent.send("array", array));
  must_be_spare(stage, parent.last_file());
  await_arrival(stage, "array");
  return first_failure({parent.arrived("array"), parent.clean_up()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence = "No user may write to /dev/shm. Arrays are sent through the next location.",
      .rows = {"M1"},
      .roles = {{"root", root}, {"worker", receive_an_array}},
      .kernel_only = true,
  };
});

}  // namespace
}  // namespace lastref::harness
