#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource parcel = product.file("parcel.bin");
  const Resource other = product.file("other.bin");
  LASTREF_CHECK(product.lead());
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
  const Status let_go = product.release(parcel);
  stage.tell("let go");
  stage.await("a has looked");
  return first_failure({released, let_go});
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const Resource parcel = product.file("parcel.bin");
  LASTREF_CHECK(product.join());
  stage.tell("a is there");
  stage.await("hold");
  const Status held = product.hold(parcel);
  stage.tell("a holds");
  // If the sender was killed before, the parcel may have been removed with it.
  if (stage.await("let go") && held && product.client().probe()) {
    product.must_exist(parcel);
  }
  stage.tell("a has looked");
  return first_failure({held, product.release(parcel)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The tracker reads a sender's last release behind other news of it; the hold that came "
          "before on another connection counts first.",
      .rows = {"T9"},
      .roles = {{"root", root}, {"client_a", client_a}},
  };
});

}  // namespace
}  // namespace lastref::harness
