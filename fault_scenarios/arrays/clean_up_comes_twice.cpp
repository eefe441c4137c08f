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
  if (!parent || !stage.start("worker") || !parent.send("array", array)) {
    return;
  }
  // The worker has not opened it yet: what is on its way is all that keeps the file.
  static_cast<void>(parent.clean_up());
  static_cast<void>(parent.clean_up());
  static_cast<void>(stage.product().operation(
      "unlink", [&] { return parent.resources().unlink_temporary_resources("call"); }));
  if (!stage.product().client().probe()) {
    return;
  }
  stage.tell("cleaned up");
  await_arrival(stage, "array");
  parent.arrived("array");
}

void worker(Stage& stage) {
  if (!stage.product().join()) {
    return;
  }
  stage.await("cleaned up");
  Worker worker(stage);
  if (const auto array = worker.receive("array")) {
    must_equal(stage, *array, numbered());
  }
}

}  // namespace

Scenario clean_up_comes_twice() {
  return {
      .name = "arrays/clean_up_comes_twice",
      .sentence =
          "A parent cleans up three times while its array is still on its way: it lets go of its "
          "own "
          "reference once, and the worker finds the file.",
      .rows = {"M4", "M5", "T9"},
      .roles = {{"root", root}, {"worker", worker}},
  };
}

}  // namespace lastref::harness
