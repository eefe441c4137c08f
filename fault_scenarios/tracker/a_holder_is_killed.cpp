#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource shared = stage.product().file("shared.bin");
  if (!stage.product().lead() || !stage.product().register_name(shared) ||
      !stage.product().make(shared)) {
    return;
  }
  if (!stage.start("client_a")) {
    return;
  }
  stage.await("a holds");
  stage.kill("client_a");
  static_cast<void>(stage.product().client().probe());
  stage.product().must_exist(shared);
  if (stage.start("client_b")) {
    stage.await("b is done");
  }
  static_cast<void>(stage.product().release(shared));
}

void client_a(Stage& stage) {
  const Resource alone = stage.product().file("alone.bin");
  const Resource shared = stage.product().file("shared.bin");
  if (!stage.product().join() || !stage.product().hold(shared) || !stage.product().hold(shared)) {
    return;
  }
  if (!stage.product().register_name(alone) || !stage.product().make(alone)) {
    return;
  }
  stage.tell("a holds");
  stage.stay_until_killed();
}

void client_b(Stage& stage) {
  const Resource alone = stage.product().file("alone.bin");
  if (!stage.product().join() || !stage.product().register_name(alone)) {
    return;
  }
  // Registered means that the dead process's file of this name is dealt with.
  if (stage.product().make(alone)) {
    stage.product().must_exist(alone);
  }
  static_cast<void>(stage.product().release(alone));
  stage.tell("b is done");
}

}  // namespace

Scenario a_holder_is_killed() {
  return {
      .name = "tracker/a_holder_is_killed",
      .sentence =
          "A process is killed while it holds two references to one file and one to "
          "another; what it held alone goes, what others hold stays.",
      .rows = {"T9", "T5", "T11"},
      .roles = {{"root", root}, {"client_a", client_a}, {"client_b", client_b}},
  };
}

}  // namespace lastref::harness
