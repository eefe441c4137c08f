#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource removed = product.file("removed_by_another.bin");
  const Resource never = product.file("never_made.bin");
  const Resource folder = product.folder("never_made");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(removed));
  LASTREF_CHECK(product.make(removed));
  LASTREF_CHECK(product.register_name(never));
  LASTREF_CHECK(product.register_name(folder));
  LASTREF_CHECK(stage.os().unlink(removed.name));
  return first_failure({product.release(removed),
                        product.release(never),
                        product.release(folder),
                        product.client().probe()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Names end without a message if their resources were never made, or were removed by "
          "another process.",
      .rows = {"T7"},
      .roles = {{"root", root}},
  };
});

}  // namespace
}  // namespace lastref::harness
