#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("let_go.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  Status released = product.release(file);
  stage.kill("root");
  return released;
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The last process releases its file and is killed before the tracker reads that. It has "
          "left nothing, and no leftover is reported.",
      .rows = {"T9"},
      .roles = {{"root", root}},
  };
});

}  // namespace
}  // namespace lastref::harness
