#include "fault_scenarios/storage/storage.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Array array = numbered();
  // The tracker may do all, as somebody has to who cleans up.
  if (!stage.product().lead() || !stage.limits().obey_modes()) {
    return;
  }
  Parent parent(stage);
  // Chosen, and forbidden before the folder is made.
  if (!parent || !parent.resources().resolve_temp_folder_name() || !stage.start("worker")) {
    return;
  }
  stage.outside().change_mode(shared_memory_folder, 0555);
  const Status first = parent.send("array", array);
  stage.outside().change_mode(shared_memory_folder, 01777);
  if (!first) {
    return;
  }
  must_be_spare(stage, parent.last_file());
  await_arrival(stage, "array");
  parent.arrived("array");
  if (!parent.clean_up() || !parent.begin("next") || !parent.send("next", array)) {
    return;
  }
  // Forbidden after the context's first dump.
  const auto folder = parent.resources().resolve_temp_folder_name();
  if (!folder) {
    return;
  }
  stage.outside().change_mode(folder->path, 0500);
  const Status refused = parent.send("other", numbered(3));
  stage.outside().change_mode(folder->path, 0700);
  if (refused && stage.is_undisturbed()) {
    stage.refute("M1: a folder that may not be written to is an error", "it was written to");
  } else if (!refused) {
    must_name_the_variable(stage, refused.error());
  }
  await_arrival(stage, "next");
  parent.arrived("next");
  static_cast<void>(parent.clean_up());
}

void worker(Stage& stage) {
  if (!stage.product().join()) {
    return;
  }
  Worker worker(stage);
  for (const char* word : {"array", "next"}) {
    if (const auto array = worker.receive(word)) {
      must_equal(stage, *array, numbered());
    }
  }
}

}  // namespace

Scenario shared_memory_becomes_forbidden() {
  return {
      .name = "storage/shared_memory_becomes_forbidden",
      .sentence =
          "/dev/shm is chosen and then closed: a context's first dump goes elsewhere, a later one "
          "is "
          "an error that names the variable to set.",
      .rows = {"M1"},
      .roles = {{"root", root}, {"worker", worker}},
      .failing_operations = {"reduce"},
      .kernel_only = true,
  };
}

}  // namespace lastref::harness
