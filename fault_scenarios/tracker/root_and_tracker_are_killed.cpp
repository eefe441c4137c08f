#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource file = stage.product().file("left_behind.bin");
  if (!stage.product().lead() || !stage.product().register_name(file) ||
      !stage.product().make(file)) {
    return;
  }
  if (!stage.start("client_a")) {
    return;
  }
  stage.stay_until_killed();
}

void client_a(Stage& stage) {
  const Resource file = stage.product().file("left_behind.bin");
  if (!stage.product().join() || !stage.product().hold(file)) {
    return;
  }
  stage.kill("root");
  stage.kill("tracker");
  if (stage.product().client().probe()) {
    stage.refute("error-surfaced: a tree without root and tracker says so", "probe succeeded");
  }
  if (stage.product().register_name(stage.product().file("too_late.bin"))) {
    stage.refute("error-surfaced: a tree without root and tracker says so", "register succeeded");
  }
}

}  // namespace

Scenario root_and_tracker_are_killed() {
  return {
      .name = "tracker/root_and_tracker_are_killed",
      .sentence =
          "Root and tracker are both killed; who is left gets errors and no hang, and the "
          "next start cleans up.",
      .rows = {"T6", "T5"},
      .roles = {{"root", root}, {"client_a", client_a}},
      .failing_operations = {"register"},
  };
}

}  // namespace lastref::harness
