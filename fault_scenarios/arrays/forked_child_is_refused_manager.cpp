#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(parent.send("array", numbered()));
  stage.fork_stranger([&]() -> Status {
    const Status cleaned = parent.resources().clean_up();
    if (cleaned || cleaned.error().code != std::errc::operation_not_permitted) {
      stage.refute("E8: a forked child is refused its parent's manager",
                   cleaned ? "it cleaned up" : describe(cleaned.error()));
    }
    stage.tell("the child is done");
    return ok();
  });
  stage.await("the child is done");
  LASTREF_TRY(folder, parent.resources().resolve_temp_folder_name());
  must_hold_one_file(stage, folder.path);
  return first_failure({parent.arrived("array"), parent.clean_up()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A forked child asks the manager of its parent to clean up. It is refused, and the "
          "parent's resources remain.",
      .rows = {"E8"},
      .roles = {{"root", root}},
      .kernel_only = true,
      .outside_matrix = "arrays/array_round_trip makes the same calls",
  };
});

}  // namespace
}  // namespace lastref::harness
