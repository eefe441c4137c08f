#include "fault_scenarios/support/trees.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const std::vector<Resource> files = files_of(stage, "orphan.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("a holds");
  stage.stop("tracker");
  stage.tell("go");
  stage.await("a has left");
  stage.kill("tracker");
  Status probed = product.client().probe();
  // The end of the run shows the result.
  for (const Resource& each : files) {
    may_fail(stage.os().status_at(each.name));
  }
  return probed;
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const std::vector<Resource> files = files_of(stage, "orphan.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(make_all(stage, files));
  stage.tell("a holds");
  stage.await("go");
  Status released = release_all(stage, files);
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
      .parameters = {name_count},
      .expected_noise = {"the tracker was killed by signal 9; starting another"},
  };
});

}  // namespace
}  // namespace lastref::harness
