#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource file = stage.file("of_the_root.bin");
  const Resource folder = stage.folder_of("folder_of_the_root");
  if (!stage.lead() || !stage.register_name(folder) || !stage.make(folder)) {
    return;
  }
  if (!stage.register_name(file) || !stage.make(file) || !stage.start("client_a")) {
    return;
  }
  stage.await("a holds");
  stage.tell("the root goes");
  stage.await("never said");
}

void client_a(Stage& stage) {
  const Resource file = stage.file("of_the_root.bin");
  if (!stage.join() || !stage.hold(file)) {
    return;
  }
  stage.tell("a holds");
  stage.await("the root goes");
  stage.kill("root");
  static_cast<void>(stage.client().probe());
  stage.must_exist(file);
  if (stage.start("client_b")) {
    stage.await("b holds");
  }
  static_cast<void>(stage.release(file));
}

void client_b(Stage& stage) {
  const Resource file = stage.file("of_the_root.bin");
  if (!stage.join() || !stage.hold(file)) {
    return;
  }
  stage.tell("b holds");
  stage.must_exist(file);
}

}  // namespace

Scenario the_root_is_killed() {
  return {
      .name = "tracker/the_root_is_killed",
      .sentence =
          "The root is killed while its children hold; they go on, new ones join, and the "
          "last of them takes everything along.",
      .rows = {"T5", "T9"},
      .roles = {{"root", root}, {"client_a", client_a}, {"client_b", client_b}},
      // If all others have left before the tracker hears of the root's death.
      .possible_noise = {"the last process of the tree left 1 file: file:"},
  };
}

}  // namespace lastref::harness
