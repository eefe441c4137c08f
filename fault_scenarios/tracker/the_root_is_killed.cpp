#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource file = stage.product().file("of_the_root.bin");
  const Resource folder = stage.product().folder("folder_of_the_root");
  if (!stage.product().lead() || !stage.product().register_name(folder) ||
      !stage.product().make(folder)) {
    return;
  }
  if (!stage.product().register_name(file) || !stage.product().make(file) ||
      !stage.start("client_a")) {
    return;
  }
  stage.await("a holds");
  stage.tell("the root goes");
  stage.stay_until_killed();
}

void client_a(Stage& stage) {
  const Resource file = stage.product().file("of_the_root.bin");
  if (!stage.product().join() || !stage.product().hold(file)) {
    return;
  }
  stage.tell("a holds");
  stage.await("the root goes");
  stage.kill("root");
  static_cast<void>(stage.product().client().probe());
  stage.product().must_exist(file);
  if (stage.start("client_b")) {
    stage.await("b holds");
  }
  static_cast<void>(stage.product().release(file));
}

void client_b(Stage& stage) {
  const Resource file = stage.product().file("of_the_root.bin");
  if (!stage.product().join() || !stage.product().hold(file)) {
    return;
  }
  stage.tell("b holds");
  stage.product().must_exist(file);
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
