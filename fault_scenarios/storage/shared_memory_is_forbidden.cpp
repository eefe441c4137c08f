#include "fault_scenarios/storage/storage.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Array array = numbered();
  if (!stage.limits().obey_modes()) {
    return;
  }
  if (!stage.product().lead()) {
    return;
  }
  stage.outside().change_mode(shared_memory_folder, 0555);
  Parent parent(stage);
  if (!parent || !stage.start("worker") || !parent.send("array", array)) {
    return;
  }
  must_be_spare(stage, parent.last_file());
  await_arrival(stage, "array");
  parent.arrived("array");
  static_cast<void>(parent.clean_up());
}

}  // namespace

Scenario shared_memory_is_forbidden() {
  return {
      .name = "storage/shared_memory_is_forbidden",
      .sentence = "Nobody may write to /dev/shm: arrays travel through the next place.",
      .rows = {"M1"},
      .roles = {{"root", root}, {"worker", receive_an_array}},
      .kernel_only = true,
  };
}

}  // namespace lastref::harness
