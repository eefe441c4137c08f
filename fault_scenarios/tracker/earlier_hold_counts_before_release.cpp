#include "fault_scenarios/support/trees.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource parcel = resource_of(stage, "parcel.bin");
  const Resource other = product.file("other.bin");
  LASTREF_CHECK(enter_tree(stage));
  LASTREF_CHECK(product.register_name(other));
  LASTREF_CHECK(product.make(other));
  LASTREF_CHECK(product.register_name(parcel));
  LASTREF_CHECK(product.make(parcel));
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("a is there");
  // This release wakes the tracker. When the tracker reads it, the release below may already follow
  // it. The hold that came before that release is on another connection, which was silent at that
  // moment.
  const Status released = product.release(other);
  stage.tell("hold");
  stage.await("a holds");
  const Status parcel_released = product.release(parcel);
  stage.tell("released");
  stage.await("a has checked");
  return first_failure({released, parcel_released});
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const Resource parcel = resource_of(stage, "parcel.bin");
  LASTREF_CHECK(product.join());
  stage.tell("a is there");
  stage.await("hold");
  const Status held = product.hold(parcel);
  stage.tell("a holds");
  // If the sender was killed before, the parcel may have been removed with it.
  if (stage.await("released") && held && product.client().probe()) {
    product.must_exist(parcel);
  }
  stage.tell("a has checked");
  return first_failure({held, product.release(parcel)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The tracker reads a sender's last release after other messages of that sender. A hold "
          "that was sent earlier on another connection counts first.",
      .rows = {"T9"},
      .roles = {{"root", root}, {"client_a", client_a}, {"leader", lead_tree}},
      .parameters = {name_type, tree_starter},
  };
});

}  // namespace
}  // namespace lastref::harness
