#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource shared = stage.file("shared.bin");
  if (!stage.lead() || !stage.register_name(shared) || !stage.make(shared)) {
    return;
  }
  if (!stage.start("client_a")) {
    return;
  }
  stage.await("a holds");
  stage.kill("client_a");
  static_cast<void>(stage.client().probe());
  stage.must_exist(shared);
  if (stage.start("client_b")) {
    stage.await("b is done");
  }
  static_cast<void>(stage.release(shared));
}

void client_a(Stage& stage) {
  const Resource alone = stage.file("alone.bin");
  const Resource shared = stage.file("shared.bin");
  if (!stage.join() || !stage.hold(shared) || !stage.hold(shared)) {
    return;
  }
  if (!stage.register_name(alone) || !stage.make(alone)) {
    return;
  }
  stage.tell("a holds");
  stage.await("never said");
}

void client_b(Stage& stage) {
  const Resource alone = stage.file("alone.bin");
  if (!stage.join() || !stage.register_name(alone)) {
    return;
  }
  // Registered means that the dead process's file of this name is dealt with.
  if (stage.make(alone)) {
    stage.must_exist(alone);
  }
  static_cast<void>(stage.release(alone));
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
