#include "fault_scenarios/arrays/arrays.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Array array = numbered();
  if (!stage.product().lead()) {
    return;
  }
  Parent parent(stage);
  if (!parent || !stage.start("worker") || !parent.send("array", array)) {
    return;
  }
  const auto folder = parent.resources().resolve_temp_folder_name();
  await_arrival(stage, "array");
  parent.arrived("array");
  if (parent.clean_up({.force = true}) && folder) {
    const auto there = stage.os().status_at(folder->path);
    if (there && stage.is_undisturbed()) {
      stage.refute("M5: a forced clean-up deletes at once", folder->path + " is still there");
    }
  }
  stage.tell("cleaned up");
}

void worker(Stage& stage) {
  if (!stage.product().join()) {
    return;
  }
  Worker worker(stage);
  const auto array = worker.receive("array");
  if (!array) {
    return;
  }
  stage.await("cleaned up");
  must_equal(stage, *array, numbered());  // A map outlives the name.
}

}  // namespace

Scenario a_forced_clean_up() {
  return {
      .name = "arrays/a_forced_clean_up",
      .sentence =
          "A parent cleans up by force while a worker maps the file: name and folder go at once, "
          "the "
          "map stays, and nobody complains when the worker lets go.",
      .rows = {"M5", "M6"},
      .roles = {{"root", root}, {"worker", worker}},
  };
}

}  // namespace lastref::harness
