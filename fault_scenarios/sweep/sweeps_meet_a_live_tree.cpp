#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/sweep/sweep.hpp"

namespace lastref::harness {
namespace {

/// A sweep that another program makes: it is no member of the tree.
void sweeper(Stage& stage) {
  stage.await("sweep");
  static_cast<void>(stage.product().operation("sweep", [&]() -> Status {
    LASTREF_CHECK(sweep(stage.os(), {}));
    return ok();
  }));
  stage.tell(stage.role() + " has swept");
}

void worker(Stage& stage) {
  if (!stage.product().join() || !stage.start("sweeper_a") || !stage.start("sweeper_b")) {
    return;
  }
  Worker worker(stage);
  const auto array = worker.receive("array");
  const auto path = stage.receive("path");
  if (!array || !path) {
    return;
  }
  const bool was_there = stage.os().status_at(*path).has_value();
  // Dead is whose every process is dead: not a tree that has lost its root.
  stage.kill("root");
  stage.tell("sweep");
  stage.await("sweeper_a has swept");
  stage.await("sweeper_b has swept");
  if (was_there && stage.product().client().counts()) {
    stage.product().must_exist({.type = ResourceType::file, .name = *path});
  }
  must_equal(stage, *array, numbered());
}

}  // namespace

Scenario sweeps_meet_a_live_tree() {
  return {
      .name = "sweep/sweeps_meet_a_live_tree",
      .sentence =
          "Two sweeps at once find a tree that has lost its root and still has a worker: they "
          "leave it "
          "alone.",
      .rows = {"M7"},
      .roles = {{"root", send_and_live_on},
                {"worker", worker},
                {"sweeper_a", sweeper},
                {"sweeper_b", sweeper}},
      .possible_noise = {"the last process of the tree left 1 folder: "},
  };
}

}  // namespace lastref::harness
