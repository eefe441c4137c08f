#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource kept = product.file("kept.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(kept));
  LASTREF_CHECK(product.make(kept));
  LASTREF_CHECK(product.hold(kept));
  LASTREF_CHECK(product.forget(kept));
  Status probed = product.client().probe();
  product.must_exist(kept);
  return probed;
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A name is forgotten, whatever its reference count. Its file stays, even past the next "
          "start.",
      .rows = {"T3"},
      .roles = {{"root", root}},
      .stays = {"file:kept.bin"},
  };
});

}  // namespace
}  // namespace lastref::harness
