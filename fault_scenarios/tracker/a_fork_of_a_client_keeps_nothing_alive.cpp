#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  if (!stage.product().lead() || !stage.start("client_a")) {
    return;
  }
  stage.await("the stranger lives");
  stage.kill("client_a");
  // Then the tracker's counts are looked at, and the dead must hold nothing.
  stage.wait_for_quiet();
  stage.tell("stranger, go");
}

void client_a(Stage& stage) {
  const Resource file = stage.product().file("of_the_parent.bin");
  if (!stage.product().join() || !stage.product().register_name(file) ||
      !stage.product().make(file)) {
    return;
  }
  stage.fork_stranger([&stage] {
    stage.tell("the stranger lives");
    stage.await("stranger, go");
  });
  stage.stay_until_killed();
}

}  // namespace

Scenario a_fork_of_a_client_keeps_nothing_alive() {
  return {
      .name = "tracker/a_fork_of_a_client_keeps_nothing_alive",
      .sentence =
          "A process that merely forked from a client neither keeps its dead parent's "
          "file alive nor delays the end of the tree.",
      .rows = {"T8"},
      .roles = {{"root", root}, {"client_a", client_a}},
      .kernel_only = true,
  };
}

}  // namespace lastref::harness
