// A program that removes files by age meets the folders of a live tree in each phase.
#include <string>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

void must_be_locked(Stage& stage, const std::string& folder) {
  if (stage.is_undisturbed() && !stage.outside().is_locked(folder)) {
    stage.refute("M7: a program that removes by age skips the folders of a live tree",
                 folder + " is not locked");
  }
}

Status dump_an_array(Stage& stage) {
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(parent.send("array", numbered()));
  LASTREF_TRY(folder, parent.resources().resolve_temp_folder_name());
  must_be_locked(stage, folder.path);
  return first_failure({parent.arrived("array"), parent.clean_up()});
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("old.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_TRY(tree, product.client().tree());
  must_be_locked(stage, tree);
  LASTREF_CHECK(dump_an_array(stage));
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("a holds");
  stage.kill("tracker");
  must_be_locked(stage, tree);  // Only by the root.
  // The next tracker serves before the root leaves.
  const Status probed = product.client().probe();
  const Status released = product.release(file);
  product.leave();
  stage.send("the root has left", tree);
  return first_failure({probed, released});
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("old.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.hold(file));
  stage.tell("a holds");
  const Result<std::string> tree = stage.receive("the root has left");
  const Status probed = product.client().probe();
  if (probed && tree) {
    must_be_locked(stage, *tree);  // Only by the tracker.
  }
  return first_failure({probed, product.release(file)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "An outsider that removes files by age finds the folder of a tree and that of its "
          "arrays. It skips them: with root and tracker, without the tracker, and without the "
          "root.",
      .rows = {"M7"},
      .roles = {{"root", root}, {"client_a", client_a}},
      .expected_noise = {"the tracker was killed by signal 9; starting another"},
  };
});

}  // namespace
}  // namespace lastref::harness
