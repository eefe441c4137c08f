#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("near.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_TRY(working, stage.os().working_folder());
  Resource relative = file;
  relative.name = file.name.substr(1);
  for (const char each : working) {
    relative.name.insert(0, each == '/' ? "../" : "");
  }
  LASTREF_CHECK(product.register_name(relative));
  LASTREF_CHECK(product.make(file));
  const auto counts = product.client().counts();
  if (counts && (counts->size() != 1 || !counts->front().resource.name.starts_with(working))) {
    stage.refute("E2: a counted name is an absolute path",
                 counts->empty() ? "nothing is counted" : counts->front().resource.name);
  }
  return product.release(relative);
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A file is registered by a relative name. It is counted and removed by its absolute "
          "path.",
      .rows = {"E2", "T4"},
      .roles = {{"root", root}},
  };
});

}  // namespace
}  // namespace lastref::harness
