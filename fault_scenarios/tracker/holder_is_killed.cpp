#include "fault_scenarios/support/trees.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource shared = resource_of(stage, "shared.bin");
  LASTREF_CHECK(enter_tree(stage));
  LASTREF_CHECK(product.register_name(shared));
  LASTREF_CHECK(product.make(shared));
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("a holds");
  stage.kill("client_a");
  const Status probed = product.client().probe();
  product.must_exist(shared);
  const Status started = stage.start("client_b");
  if (started) {
    stage.await("b is done");
  }
  return first_failure({probed, started, product.release(shared)});
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const Resource alone = resource_of(stage, "alone.bin");
  const Resource shared = resource_of(stage, "shared.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.hold(shared));
  LASTREF_CHECK(product.hold(shared));
  LASTREF_CHECK(product.register_name(alone));
  LASTREF_CHECK(product.make(alone));
  stage.tell("a holds");
  stage.stay_until_killed();
  return ok();
}

Status client_b(Stage& stage) {
  Product& product = stage.product();
  const Resource alone = resource_of(stage, "alone.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.register_name(alone));
  // A successful register means that the dead process's file of this name was cleaned up.
  const Status made = product.make(alone);
  if (made) {
    product.must_exist(alone);
  }
  const Status released = product.release(alone);
  stage.tell("b is done");
  return first_failure({made, released});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A process is killed while it holds two references to one file and one to another. The "
          "file that it alone held is removed, and the shared file remains.",
      .rows = {"T9", "T5", "T11"},
      .roles = {{"root", root},
                {"client_a", client_a},
                {"client_b", client_b},
                {"leader", lead_tree}},
      .parameters = {name_type, tree_starter},
  };
});

}  // namespace
}  // namespace lastref::harness
