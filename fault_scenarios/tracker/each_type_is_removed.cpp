#include "fault_scenarios/support/trees.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const std::vector<Resource> all = {product.file("typed.bin"),
                                     product.folder("typed"),
                                     product.semaphore("lastref-typed"),
                                     product.shm("lastref-typed"),
                                     {.type = ResourceType::noop, .name = "typed"}};
  LASTREF_CHECK(enter_tree(stage));
  for (const Resource& resource : all) {
    LASTREF_CHECK(product.register_name(resource));
    LASTREF_CHECK(product.make(resource));
  }
  Status released;
  for (const Resource& resource : all) {
    released = first_failure({released, product.release(resource)});
  }
  return first_failure({released, product.client().probe()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A file, a folder, a semaphore and a shared memory object are removed with their last "
          "reference. A noop ends without a trace.",
      .rows = {"T4"},
      .roles = {{"root", root}, {"leader", lead_tree}},
      .parameters = {tree_starter},
  };
});

}  // namespace
}  // namespace lastref::harness
