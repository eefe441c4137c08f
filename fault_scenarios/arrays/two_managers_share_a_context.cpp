#include "fault_scenarios/arrays/arrays.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

/// The same context id in two managers: their folders are two.
void root(Stage& stage) {
  if (!stage.product().lead()) {
    return;
  }
  Parent one(stage);
  Parent other(stage);
  if (!one || !other || !stage.start("worker") || !one.send("one", numbered()) ||
      !other.send("other", numbered(3))) {
    return;
  }
  static_cast<void>(one.clean_up({.force = true}));
  stage.tell("one has cleaned up");
  await_arrival(stage, "other");
  other.arrived("other");
  static_cast<void>(other.clean_up());
}

void worker(Stage& stage) {
  if (!stage.product().join()) {
    return;
  }
  Worker worker(stage);
  stage.await("one has cleaned up");
  if (const auto array = worker.receive("other")) {
    must_equal(stage, *array, numbered(3));
  }
}

}  // namespace

Scenario two_managers_share_a_context() {
  return {
      .name = "arrays/two_managers_share_a_context",
      .sentence =
          "Two managers of one process use the same context: one cleans up by force, and the "
          "other's "
          "files are untouched.",
      .rows = {"M2", "M5"},
      .roles = {{"root", root}, {"worker", worker}},
  };
}

}  // namespace lastref::harness
