#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Registers, has the other process forget the name, and registers again: one reference, not two,
/// also for the next tracker.
Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("again.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("a has forgotten");
  LASTREF_CHECK(product.register_name(file));
  stage.kill("tracker");
  const Status probed = product.client().probe();
  if (probed) {
    // A process that no tracker accepts has left its tree, and holds nothing.
    product.must_exist(file);
  }
  return first_failure({probed, product.release(file), product.client().probe()});
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("again.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.forget(file));
  stage.tell("a has forgotten");
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A process forgets a name that another holds, and the other registers it again. The "
          "restarted tracker counts only the new reference.",
      .rows = {"T3", "T6"},
      .roles = {{"root", root}, {"client_a", client_a}},
      .expected_noise = {"the tracker was killed by signal 9; starting another"},
      .stays = {"file:again.bin"},
  };
});

}  // namespace
}  // namespace lastref::harness
