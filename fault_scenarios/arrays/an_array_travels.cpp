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
  if (!parent || !parent.send("array", array) || !stage.start("worker")) {
    return;
  }
  await_arrival(stage, "array");
  parent.arrived("array");
  static_cast<void>(parent.clean_up());
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
  must_equal(stage, *array, numbered());
}

}  // namespace

Scenario an_array_travels() {
  return {
      .name = "arrays/an_array_travels",
      .sentence =
          "A parent sends an array through a file and cleans up; the worker that mapped it sees "
          "its elements, and file and folder go with its last view.",
      .rows = {"R4", "R7", "R8", "R12", "R13", "M1", "M2", "M4", "T9"},
      .roles = {{"root", root}, {"worker", worker}},
  };
}

}  // namespace lastref::harness
