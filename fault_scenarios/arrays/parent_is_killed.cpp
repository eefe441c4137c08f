#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status worker(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.join());
  Worker worker(stage);
  LASTREF_TRY(array, worker.receive("array"));
  LASTREF_TRY(path, stage.receive("path"));
  const bool was_there = stage.os().status_at(path).has_value();
  stage.kill("root");
  // Its folder has no owner now, but contains our file.
  if (was_there && product.client().counts() && product.client().probe()) {
    product.must_exist({.type = ResourceType::file, .name = path});
  }
  must_equal(stage, array, numbered());
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A parent is killed while a worker maps its file. The file remains until the worker "
          "releases it, and then the folder is removed too.",
      .rows = {"R7", "M3", "T9"},
      .roles = {{"root", send_and_stay_alive}, {"worker", worker}},
      .possible_noise = {"the last process of the tree has ended: removing 1 folder: "},
  };
});

}  // namespace
}  // namespace lastref::harness
