#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  // Its actions are not synchronized with ours.
  return stage.start("late");
}

Status late(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("of_late_process.bin");
  if (!product.join() || !product.register_name(file)) {
    return ok();  // Refused, which is allowed.
  }
  LASTREF_CHECK(product.make(file));
  product.must_exist(file);
  return product.release(file);
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A process joins when the root is about to leave. It becomes a member or is refused, and "
          "no tracker stays busy for it.",
      .rows = {"T5", "T1", "T6"},
      .roles = {{"root", root}, {"late", late}},
      .failing_operations = {"join", "register"},
  };
});

}  // namespace
}  // namespace lastref::harness
