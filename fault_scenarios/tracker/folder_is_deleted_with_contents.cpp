#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource folder = product.folder("deep");
  const Resource inner = product.file("deep/inner/leaf.bin");
  const Resource leaf = product.file("deep/leaf.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(folder));
  LASTREF_CHECK(product.make(folder));
  LASTREF_CHECK(product.make(leaf));
  LASTREF_CHECK(stage.os().make_folder(folder.name + "/inner", 0700));
  LASTREF_CHECK(product.make(inner));
  return first_failure({product.release(folder), product.client().probe()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A folder of files, folders and symlinks is deleted. The targets of the symlinks are "
          "not.",
      .rows = {"T4"},
      .roles = {{"root", root}},
  };
});

}  // namespace
}  // namespace lastref::harness
