#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource file = stage.product().file("outlives_the_root.bin");
  if (!stage.product().lead() || !stage.product().register_name(file) ||
      !stage.product().make(file)) {
    return;
  }
  if (!stage.start("client_a")) {
    return;
  }
  stage.await("a holds");
  static_cast<void>(stage.product().release(file));
  stage.product().leave();
  stage.tell("the root has left");
}

void client_a(Stage& stage) {
  const Resource file = stage.product().file("outlives_the_root.bin");
  if (!stage.product().join() || !stage.product().hold(file)) {
    return;
  }
  stage.tell("a holds");
  // A root that was killed may have been gone before our hold was read.
  if (stage.await("the root has left")) {
    static_cast<void>(stage.product().client().probe());
    stage.product().must_exist(file);
  }
  static_cast<void>(stage.product().release(file));
}

}  // namespace

Scenario the_root_leaves_first() {
  return {
      .name = "tracker/the_root_leaves_first",
      .sentence =
          "The root ends in good order while its children hold; the tracker serves them "
          "to the end.",
      .rows = {"T5"},
      .roles = {{"root", root}, {"client_a", client_a}},
  };
}

}  // namespace lastref::harness
