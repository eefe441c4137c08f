#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// A sweep by another program, which is no member of the tree.
Status sweeper(Stage& stage) {
  stage.await("sweep");
  Status swept =
      stage.product().operation("sweep", [&] { return status_of(sweep(stage.os(), {})); });
  stage.tell(stage.role() + " has swept");
  return swept;
}

Status worker(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(stage.start("sweeper_a"));
  LASTREF_CHECK(stage.start("sweeper_b"));
  Worker worker(stage);
  LASTREF_TRY(array, worker.receive("array"));
  LASTREF_TRY(path, stage.receive("path"));
  const bool was_there = stage.os().status_at(path).has_value();
  // A tree is orphaned when all its processes are dead, and not when only its root is.
  stage.kill("root");
  stage.tell("sweep");
  stage.await("sweeper_a has swept");
  stage.await("sweeper_b has swept");
  if (was_there && product.client().counts()) {
    product.must_exist({.type = ResourceType::file, .name = path});
  }
  must_equal(stage, array, numbered());
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Two sweeps at the same time find a tree that has lost its root and still has a worker. "
          "They leave it alone.",
      .rows = {"M7"},
      .roles = {{"root", send_and_stay_alive},
                {"worker", worker},
                {"sweeper_a", sweeper},
                {"sweeper_b", sweeper}},
      .possible_noise = {"the last process of the tree has ended: removing 1 folder: "},
  };
});

}  // namespace
}  // namespace lastref::harness
