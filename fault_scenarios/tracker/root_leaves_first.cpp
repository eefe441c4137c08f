#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("outlives_the_root.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("a holds");
  Status released = product.release(file);
  product.leave();
  stage.tell("the root has left");
  return released;
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("outlives_the_root.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.hold(file));
  stage.tell("a holds");
  // A killed root may have died before the tracker read our hold.
  Status probed;
  if (stage.await("the root has left")) {
    probed = product.client().probe();
    product.must_exist(file);
  }
  return first_failure({probed, product.release(file)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The root exits normally while its children hold references. The tracker serves them to "
          "the end.",
      .rows = {"T5"},
      .roles = {{"root", root}, {"client_a", client_a}},
  };
});

}  // namespace
}  // namespace lastref::harness
