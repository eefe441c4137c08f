#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("of_the_root.bin");
  const Resource folder = product.folder("folder_of_the_root");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(folder));
  LASTREF_CHECK(product.make(folder));
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("a holds");
  stage.tell("the root may die");
  stage.stay_until_killed();
  return ok();
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("of_the_root.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.hold(file));
  stage.tell("a holds");
  const bool root_lived_until_then = stage.await("the root may die");
  stage.kill("root");
  const Status probed = product.client().probe();
  if (root_lived_until_then) {
    product.must_exist(file);
  }
  const Status started = stage.start("client_b");
  if (started && stage.await("b holds") && root_lived_until_then) {
    stage.tell("the file was held throughout");
  }
  return first_failure({probed, started, product.release(file)});
}

Status client_b(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("of_the_root.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.hold(file));
  stage.tell("b holds");
  if (stage.await("the file was held throughout")) {
    product.must_exist(file);
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The root is killed while its children hold references. They continue, new ones join, "
          "and the end of the last one removes everything.",
      .rows = {"T5", "T9"},
      .roles = {{"root", root}, {"client_a", client_a}, {"client_b", client_b}},
      // If all others have left before the tracker learns of the root's death.
      .possible_noise = {"the last process of the tree has ended: removing 1 file: file:",
                         "the last process of the tree has ended: removing 1 folder: folder:"},
  };
});

}  // namespace
}  // namespace lastref::harness
