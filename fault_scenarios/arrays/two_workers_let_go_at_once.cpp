#include "fault_scenarios/arrays/arrays.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const Array array = numbered();
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(parent.send("to a", array));
  LASTREF_CHECK(parent.send("to b", array));
  LASTREF_CHECK(stage.start("worker_a"));
  LASTREF_CHECK(stage.start("worker_b"));
  await_arrival(stage, "to a");
  LASTREF_CHECK(parent.arrived("to a"));
  await_arrival(stage, "to b");
  LASTREF_CHECK(parent.arrived("to b"));
  stage.tell("go");
  return parent.clean_up();
}

Status work(Stage& stage, const std::string& signal) {
  LASTREF_CHECK(stage.product().join());
  Worker worker(stage);
  LASTREF_TRY(array, worker.receive(signal));
  must_equal(stage, array, numbered());
  stage.await("go");
  return ok();
}

Status worker_a(Stage& stage) {
  return work(stage, "to a");
}

Status worker_b(Stage& stage) {
  return work(stage, "to b");
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
