#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// A second client of the same process and tree: joins, is served, and leaves.
Status join_and_leave(Stage& stage) {
  return stage.product().operation("join and leave", [&]() -> Status {
    LASTREF_TRY(tree, stage.product().client().tree());
    LASTREF_TRY(other, tracker::Client::join(stage.os(), tree));
    return other->probe();
  });
}

Status sweep_here(Stage& stage) {
  return stage.product().operation("sweep", [&] { return status_of(sweep(stage.os(), {})); });
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("shared.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  const Status left = join_and_leave(stage);
  const Status swept = sweep_here(stage);
  // A sweep that checks now finds the lock of a live process.
  LASTREF_CHECK(stage.start("sweeper"));
  stage.await("it is swept");
  const Status probed = product.client().probe();
  product.must_exist(file);
  return first_failure({left, swept, probed, product.release(file)});
}

Status sweeper(Stage& stage) {
  Status swept = sweep_here(stage);
  stage.tell("it is swept");
  return swept;
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Two clients of one process are in the same tree. One leaves, and the process sweeps: "
          "the lock of the other remains, and a sweep leaves the tree alone.",
      .rows = {"T6", "E3", "M7"},
      .roles = {{"root", root}, {"sweeper", sweeper}},
  };
});

}  // namespace
}  // namespace lastref::harness
