#include <algorithm>

#include "fault_scenarios/support/trees.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = resource_of(stage, "parcel.bin");
  LASTREF_CHECK(enter_tree(stage));
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("a holds");
  Status released = product.release(file);
  stage.await("b holds");
  return released;
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const Resource file = resource_of(stage, "parcel.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.hold(file));
  stage.tell("a holds");
  LASTREF_CHECK(stage.start("client_b"));
  stage.await("b holds");
  return product.release(file);
}

/// False if the sender was killed before we could announce our hold.
bool is_counted(Stage& stage, const Resource& file) {
  const auto counts = stage.product().client().counts();
  return counts && std::ranges::any_of(*counts, [&](const tracker::Count& each) {
           return each.resource == file && each.holder == stage.os().process_id();
         });
}

Status client_b(Stage& stage) {
  Product& product = stage.product();
  const Resource file = resource_of(stage, "parcel.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.hold(file));
  stage.tell("b holds");
  Status probed;
  if (is_counted(stage, file)) {
    product.must_exist(file);
    probed = product.client().probe();
    product.must_exist(file);
  }
  return first_failure({probed, product.release(file)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A sender keeps its reference until the receiver has reported its hold. The file exists "
          "all the time.",
      .rows = {"T9"},
      .roles = {{"root", root},
                {"client_a", client_a},
                {"client_b", client_b},
                {"leader", lead_tree}},
      .parameters = {name_type, tree_starter},
  };
});

}  // namespace
}  // namespace lastref::harness
