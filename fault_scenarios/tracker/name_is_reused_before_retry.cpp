#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("again.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  // One round releases it, and the next one has cleaned up, or tried to.
  const Status released =
      first_failure({product.release(file), product.client().probe(), product.client().probe()});
  LASTREF_CHECK(product.register_name(file));
  Status made = product.make(file);
  if (!made && made.error().code == std::errc::file_exists) {
    made = ok();  // The first cleanup failed.
  }
  stage.wait_for_quiet();  // By then, all attempts have been made.
  // A process that had to leave the tree under a fault holds nothing any more.
  const Status probed = product.client().probe();
  if (made && probed) {
    product.must_exist(file);
  }
  return first_failure({released, made, probed, product.release(file)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A name is registered again after its cleanup. If the cleanup has failed, it is "
          "not tried again, and the file remains.",
      .rows = {"T10", "E4"},
      .roles = {{"root", root}},
      .failing_operations = {"make"},
  };
});

}  // namespace
}  // namespace lastref::harness
