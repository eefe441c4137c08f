#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const Array array = numbered(1, stage.value(element_count));
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
  must_equal(stage, array, numbered(1, stage.value(element_count)));
  stage.await("go");
  return ok();
}

Status worker_a(Stage& stage) {
  return work(stage, "to a");
}

Status worker_b(Stage& stage) {
  return work(stage, "to b");
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Two workers share the only file of an array and release it while the parent cleans up. "
          "The file exists until the last release, and not longer.",
      .rows = {"R4", "R7", "M4"},
      .roles = {{"root", root}, {"worker_a", worker_a}, {"worker_b", worker_b}},
      .parameters = {element_count},
  };
});

}  // namespace
}  // namespace lastref::harness
