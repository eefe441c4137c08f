#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("shared.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_CHECK(stage.start("client_a"));
  LASTREF_CHECK(stage.start("client_b"));
  stage.await("a holds");
  stage.await("b holds");
  LASTREF_CHECK(product.release(file));
  stage.tell("go");
  stage.await("a is done");
  stage.await("b is done");
  return ok();
}

Status client(Stage& stage, const std::string& self) {
  Product& product = stage.product();
  const Resource file = product.file("shared.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.hold(file));
  stage.tell(self + " holds");
  if (!stage.await("go")) {
    return ok();
  }
  product.must_exist(file);
  Status released = product.release(file);
  stage.tell(self + " is done");
  return released;
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Two processes release the last two references to a file at the same time. It is removed "
          "once, and no process hangs.",
      .rows = {"T3", "T9"},
      .roles = {{"root", root},
                {"client_a", [](Stage& stage) { return client(stage, "a"); }},
                {"client_b", [](Stage& stage) { return client(stage, "b"); }}},
  };
});

}  // namespace
}  // namespace lastref::harness
