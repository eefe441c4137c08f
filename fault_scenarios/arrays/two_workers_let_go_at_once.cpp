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
  if (!parent || !parent.send("to a", array) || !parent.send("to b", array) ||
      !stage.start("worker_a") || !stage.start("worker_b")) {
    return;
  }
  await_arrival(stage, "to a");
  parent.arrived("to a");
  await_arrival(stage, "to b");
  parent.arrived("to b");
  stage.tell("go");
  static_cast<void>(parent.clean_up());
}

void work(Stage& stage, const std::string& word) {
  if (!stage.product().join()) {
    return;
  }
  Worker worker(stage);
  if (const auto array = worker.receive(word)) {
    must_equal(stage, *array, numbered());
    stage.await("go");
  }
}

void worker_a(Stage& stage) {
  work(stage, "to a");
}

void worker_b(Stage& stage) {
  work(stage, "to b");
}

}  // namespace

Scenario two_workers_let_go_at_once() {
  return {
      .name = "arrays/two_workers_let_go_at_once",
      .sentence =
          "Two workers share the one file of an array, and let go of it while the parent cleans "
          "up: "
          "whoever is last, it is there until then and gone after.",
      .rows = {"R4", "R7", "M4"},
      .roles = {{"root", root}, {"worker_a", worker_a}, {"worker_b", worker_b}},
  };
}

}  // namespace lastref::harness
