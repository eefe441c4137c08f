#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource file = stage.product().file("orphan.bin");
  if (!stage.product().lead() || !stage.start("client_a")) {
    return;
  }
  stage.await("a holds");
  stage.stop("tracker");
  stage.tell("go");
  stage.await("a is gone");
  stage.kill("tracker");
  static_cast<void>(stage.product().client().probe());
  const auto status = stage.os().status_at(file.name);
  static_cast<void>(status);
}

void client_a(Stage& stage) {
  const Resource file = stage.product().file("orphan.bin");
  if (!stage.product().join() || !stage.product().register_name(file) ||
      !stage.product().make(file)) {
    return;
  }
  stage.tell("a holds");
  stage.await("go");
  static_cast<void>(stage.product().release(file));
  stage.product().leave();
  stage.tell("a is gone");
}

}  // namespace

Scenario the_tracker_is_killed_at_the_last_release() {
  return {
      .name = "tracker/the_tracker_is_killed_at_the_last_release",
      .sentence =
          "The last holder releases and is gone before the tracker acts, and the tracker "
          "is killed; the next one cleans up from the ledger.",
      .rows = {"T6", "T5"},
      .roles = {{"root", root}, {"client_a", client_a}},
      .expected_noise = {"the tracker was killed by signal 9; starting another"},
  };
}

}  // namespace lastref::harness
