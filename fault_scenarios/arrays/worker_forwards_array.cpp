#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const Array array = few_numbered();
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(stage.start("worker_a"));
  LASTREF_CHECK(parent.send("array", array));
  await_arrival(stage, "array");
  Status cleaned_up = first_failure({parent.arrived("array"), parent.clean_up()});
  stage.tell("cleaned up");
  await_arrival(stage, "forwarded");
  return cleaned_up;
}

Status worker_a(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  Worker worker(stage);
  Result<Array> array = worker.receive("array");
  LASTREF_CHECK(array);
  LASTREF_TRY(parent, Parent::make(stage, {}, worker.receiver()));
  LASTREF_CHECK(stage.start("worker_b"));
  LASTREF_CHECK(parent.send("forwarded", *array));
  // Releases our own view before the other worker has opened the file.
  array = failure(std::errc::bad_address, "released");
  stage.await("cleaned up");
  stage.tell("released");
  await_arrival(stage, "forwarded");
  return parent.arrived("forwarded");
}

Status worker_b(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  stage.await("released");
  Worker worker(stage);
  LASTREF_TRY(array, worker.receive("forwarded"));
  must_equal(stage, array, few_numbered());
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A worker forwards an array that it has mapped, and releases it. The file exists until "
          "the next worker has opened it.",
      .rows = {"R3", "R7", "T9"},
      .roles = {{"root", root}, {"worker_a", worker_a}, {"worker_b", worker_b}},
  };
});

}  // namespace
}  // namespace lastref::harness
