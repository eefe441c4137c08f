#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// The same context id in two managers: they have two folders.
Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(one, Parent::make(stage));
  LASTREF_TRY(other, Parent::make(stage));
  LASTREF_CHECK(stage.start("worker"));
  LASTREF_CHECK(one.send("one", numbered(1, stage.value(element_count))));
  LASTREF_CHECK(other.send("other", numbered(3, stage.value(element_count))));
  const Status cleaned_up = one.clean_up({.force = true});
  stage.tell("one has cleaned up");
  await_arrival(stage, "other");
  return first_failure({cleaned_up, other.arrived("other"), other.clean_up()});
}

Status worker(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  Worker worker(stage);
  stage.await("one has cleaned up");
  LASTREF_TRY(array, worker.receive("other"));
  must_equal(stage, array, numbered(3, stage.value(element_count)));
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Two managers of one process use the same context. One forces a cleanup, and the files "
          "of the other are untouched.",
      .rows = {"M2", "M5"},
      .roles = {{"root", root}, {"worker", worker}},
      .parameters = {element_count},
  };
});

}  // namespace
}  // namespace lastref::harness
