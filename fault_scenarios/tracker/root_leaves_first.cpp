#include "fault_scenarios/support/trees.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const std::vector<Resource> files = files_of(stage, "outlives_the_root.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(make_all(stage, files));
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("a holds");
  Status released = release_all(stage, files);
  product.leave();
  stage.tell("the root has left");
  return released;
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const std::vector<Resource> files = files_of(stage, "outlives_the_root.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(hold_all(stage, files));
  stage.tell("a holds");
  // A killed root may have died before the tracker read our hold.
  Status probed;
  if (stage.await("the root has left")) {
    probed = product.client().probe();
    must_all_exist(stage, files);
  }
  return first_failure({probed, release_all(stage, files)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The root exits normally while its children hold references. The tracker serves them to "
          "the end.",
      .rows = {"T5"},
      .roles = {{"root", root}, {"client_a", client_a}},
      .parameters = {name_count},
  };
});

}  // namespace
}  // namespace lastref::harness
