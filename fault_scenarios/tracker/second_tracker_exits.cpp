#include "fault_scenarios/support/tracker_by_hand.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Starts a tracker for a tree that has one, like a user by hand, or a process that takes the other
/// tracker for dead.
Status start_another(Stage& stage, const std::string& tree) {
  LASTREF_TRY(tracker, start_tracker(stage, {tree}));
  return wait_for_end(stage, tracker);
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("counted_by_one.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_TRY(tree, product.client().tree());
  const Status other = start_another(stage, tree);
  product.must_exist(file);
  return first_failure({other, product.client().probe(), product.release(file)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A tree has one tracker. A second one exits at once, and touches neither the ledger nor "
          "a name.",
      .rows = {"T6", "T1"},
      .roles = {{"root", root}},
      .expected_noise = {"gave up: lock_range the tracker's lock"},
  };
});

}  // namespace
}  // namespace lastref::harness
