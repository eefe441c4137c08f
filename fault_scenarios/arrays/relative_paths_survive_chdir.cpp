#include <lastref/npy.hpp>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Names a folder and a file relative to its working folder, and changes that before it uses them.
Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("users.npy");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(dump(stage, file.name, few_numbered()));
  stage.work_in(stage.folder());
  LASTREF_TRY(parent, Parent::make(stage, {.root = "."}));
  LASTREF_TRY(mapped, map_npy(stage.os(), "users.npy", MapMode::read));
  stage.work_in(stage.spare_folder());
  LASTREF_CHECK(stage.start("worker"));
  LASTREF_CHECK(parent.send("array", numbered()));
  if (!parent.last_file().starts_with(stage.folder() + "/lastref_memmapping_folder_")) {
    stage.refute("M1: a relative temporary folder is made absolute", parent.last_file());
  }
  await_arrival(stage, "array");
  LASTREF_CHECK(parent.send("map", mapped));
  await_arrival(stage, "map");
  return first_failure(
      {parent.arrived("array"), parent.arrived("map"), parent.clean_up(), product.release(file)});
}

Status worker(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  Worker worker(stage);
  LASTREF_TRY(array, worker.receive("array"));
  must_equal(stage, array, numbered());
  LASTREF_TRY(map, worker.receive("map"));
  must_equal(stage, map, few_numbered());
  if (stage.is_undisturbed() && !map.memory()->file()) {
    stage.refute("E2: a mapped file is known by its path when it was mapped", "it was copied");
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A temporary folder and a file to map are given by relative paths, and the program "
          "changes its working folder. Workers find both.",
      .rows = {"E2", "M1"},
      .roles = {{"root", root}, {"worker", worker}},
  };
});

}  // namespace
}  // namespace lastref::harness
