#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const Array array = numbered();
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(stage.start("worker"));
  stage.limits().file_size(large);
  const Status refused = parent.send("array", array);
  stage.limits().file_size(1U << 30U);
  if (refused && stage.is_undisturbed()) {
    stage.refute("R12: a dump beyond the file size limit is an error", "it was sent");
    return ok();
  }
  LASTREF_CHECK(parent.send("array", array));
  await_arrival(stage, "array");
  return first_failure({parent.arrived("array"), parent.clean_up()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A dump exceeds the file size limit (RLIMIT_FSIZE). It is an error, no process dies, and "
          "nothing remains. Without the limit the same array is sent.",
      .rows = {"R12", "M1"},
      .roles = {{"root", root}, {"worker", receive_an_array}},
      .failing_operations = {"reduce"},
  };
});

}  // namespace
}  // namespace lastref::harness
