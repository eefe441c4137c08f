#include <algorithm>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Even if it still has holders.
void must_be_forgotten(Stage& stage, const std::string& file) {
  const auto counts = stage.product().client().counts();
  const auto is_it = [&](const tracker::Count& each) { return each.resource.name == file; };
  if (counts && stage.is_undisturbed() && std::ranges::any_of(*counts, is_it)) {
    stage.refute("M5: a forced cleanup ends every name that it removes",
                 file + " is still counted");
  }
}

Status root(Stage& stage) {
  const Array array = numbered();
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(stage.start("worker"));
  LASTREF_CHECK(parent.send("array", array));
  const auto folder = parent.resources().resolve_temp_folder_name();
  await_arrival(stage, "array");
  const Status arrived = parent.arrived("array");
  const Status cleaned_up = parent.clean_up({.force = true});
  if (cleaned_up && folder) {
    const auto there = stage.os().status_at(folder->path);
    if (there && stage.is_undisturbed()) {
      stage.refute("M5: a forced cleanup deletes at once", folder->path + " still exists");
    }
  }
  must_be_forgotten(stage, parent.last_file());
  stage.tell("cleaned up");
  return first_failure({arrived, cleaned_up});
}

Status worker(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  Worker worker(stage);
  LASTREF_TRY(array, worker.receive("array"));
  stage.await("cleaned up");
  must_equal(stage, array, numbered());  // A map outlives the name.
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A parent forces a cleanup while a worker maps the file. File and folder are removed at "
          "once, the map remains valid, and the worker's release causes no message.",
      .rows = {"M5", "M6"},
      .roles = {{"root", root}, {"worker", worker}},
  };
});

}  // namespace
}  // namespace lastref::harness
