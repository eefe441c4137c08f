#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("orphan.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("a holds");
  stage.stop("tracker");
  stage.tell("go");
  stage.await("a has left");
  stage.kill("tracker");
  Status probed = product.client().probe();
  // The end of the run shows the result.
  may_fail(stage.os().status_at(file.name));
  return probed;
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("orphan.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  stage.tell("a holds");
  stage.await("go");
  Status released = product.release(file);
  product.leave();
  stage.tell("a has left");
  return released;
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The last holder releases and exits before the tracker acts, and the tracker is killed. "
          "The restarted one cleans up from the ledger.",
      .rows = {"T6", "T5"},
      .roles = {{"root", root}, {"client_a", client_a}},
      .expected_noise = {"the tracker was killed by signal 9; starting another"},
  };
});

}  // namespace
}  // namespace lastref::harness
