#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

/// Registers, has the other process forget that, and registers again: one reference, not two, also
/// for the tracker after this one.
void root(Stage& stage) {
  const Resource file = stage.product().file("anew.bin");
  if (!stage.product().lead() || !stage.product().register_name(file) ||
      !stage.product().make(file) || !stage.start("client_a")) {
    return;
  }
  stage.await("a has forgotten");
  if (!stage.product().register_name(file)) {
    return;
  }
  stage.kill("tracker");
  static_cast<void>(stage.product().client().probe());
  stage.product().must_exist(file);
  static_cast<void>(stage.product().release(file));
  static_cast<void>(stage.product().client().probe());
}

void client_a(Stage& stage) {
  const Resource file = stage.product().file("anew.bin");
  if (stage.product().join() && stage.product().forget(file)) {
    stage.tell("a has forgotten");
  }
}

}  // namespace

Scenario a_forgotten_name_begins_anew() {
  return {
      .name = "tracker/a_forgotten_name_begins_anew",
      .sentence =
          "A process forgets a name that another holds, which then registers it again: the next "
          "tracker counts the new life alone.",
      .rows = {"T3", "T6"},
      .roles = {{"root", root}, {"client_a", client_a}},
      .expected_noise = {"the tracker was killed by signal 9; starting another"},
      .stays = {"file:anew.bin"},
  };
}

}  // namespace lastref::harness
