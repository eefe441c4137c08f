#include "fault_scenarios/arrays/arrays.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Array array = few_numbered();
  if (!stage.product().lead()) {
    return;
  }
  Parent parent(stage);
  if (!parent || !stage.start("worker_a") || !parent.send("array", array)) {
    return;
  }
  await_arrival(stage, "array");
  parent.arrived("array");
  static_cast<void>(parent.clean_up());
  stage.tell("cleaned up");
  await_arrival(stage, "forwarded");
}

void worker_a(Stage& stage) {
  if (!stage.product().join()) {
    return;
  }
  Worker worker(stage);
  auto array = worker.receive("array");
  if (!array) {
    return;
  }
  Parent parent(stage, {}, worker.receiver());
  if (!parent || !stage.start("worker_b") || !parent.send("forwarded", *array)) {
    return;
  }
  // Our own view goes before the other one has opened the file.
  array.reset();
  stage.await("cleaned up");
  stage.tell("let go");
  await_arrival(stage, "forwarded");
  parent.arrived("forwarded");
}

void worker_b(Stage& stage) {
  if (!stage.product().join()) {
    return;
  }
  stage.await("let go");
  Worker worker(stage);
  if (const auto array = worker.receive("forwarded")) {
    must_equal(stage, *array, few_numbered());
  }
}

}  // namespace

Scenario a_worker_forwards_an_array() {
  return {
      .name = "arrays/a_worker_forwards_an_array",
      .sentence =
          "A worker sends on what it has mapped and lets go of it: the file is there until the "
          "next "
          "one has opened it.",
      .rows = {"R3", "R7", "T9"},
      .roles = {{"root", root}, {"worker_a", worker_a}, {"worker_b", worker_b}},
  };
}

}  // namespace lastref::harness
