#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr int files = 2000;

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource folder = product.folder("huge");
  const Resource other = product.file("other.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(folder));
  LASTREF_CHECK(product.make(folder));
  for (int number = 0; number < files; ++number) {
    LASTREF_TRY(made,
                stage.os().open(folder.name + "/" + std::to_string(number),
                                {.write = true, .create = true}));
    LASTREF_CHECK(stage.os().close(made));
  }
  Status released = product.release(folder);
  // Two requests, so that the second one is sent after the round that began the deletion.
  LASTREF_CHECK(product.client().probe());
  LASTREF_CHECK(product.register_name(other));
  if (!stage.os().status_at(folder.name)) {
    stage.refute("T10: slow cleanup never blocks a client",
                 "the folder was removed before the answer");
  }
  // The same name has to wait for the end of its deletion.
  LASTREF_CHECK(product.register_name(folder));
  if (!product.make(folder)) {
    stage.refute("T10: a name cannot be registered again before its deletion ends",
                 "the folder still existed");
  }
  product.must_exist(folder);
  return released;
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence = "While a folder of 2,000 files is being deleted, other processes are served.",
      .rows = {"T10", "T4"},
      .roles = {{"root", root}},
      .expected_noise = {"the last process of the tree has ended: removing 1 "},
      .outside_matrix = "it tests size and has too many sites",
      .is_long = true,
  };
});

}  // namespace
}  // namespace lastref::harness
