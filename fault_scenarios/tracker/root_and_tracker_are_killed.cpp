#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("leftover.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_CHECK(stage.start("client_a"));
  stage.stay_until_killed();
  return ok();
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("leftover.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.hold(file));
  stage.kill("root");
  stage.kill("tracker");
  if (product.client().probe()) {
    stage.refute("error-surfaced: a tree without root and tracker is an error", "probe succeeded");
  }
  if (product.register_name(product.file("too_late.bin"))) {
    stage.refute("error-surfaced: a tree without root and tracker is an error",
                 "register succeeded");
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Root and tracker are both killed. The remaining process gets errors and does not hang, "
          "and the next start cleans up.",
      .rows = {"T6", "T5"},
      .roles = {{"root", root}, {"client_a", client_a}},
      .failing_operations = {"register"},
  };
});

}  // namespace
}  // namespace lastref::harness
