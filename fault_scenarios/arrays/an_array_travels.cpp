#include "fault_scenarios/arrays/arrays.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const Array array = numbered();
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(parent.send("array", array));
  LASTREF_CHECK(stage.start("worker"));
  await_arrival(stage, "array");
  Status cleaned_up = first_failure({parent.arrived("array"), parent.clean_up()});
  stage.tell("cleaned up");
  return cleaned_up;
}

Status worker(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  Worker worker(stage);
  LASTREF_TRY(array, worker.receive("array"));
  stage.await("cleaned up");
  must_equal(stage, array, numbered());
  return ok();
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
