#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource file = stage.product().file("of_the_tree.bin");
  if (!stage.product().lead() || !stage.product().register_name(file) ||
      !stage.product().make(file)) {
    return;
  }
  if (!stage.start("client_a")) {
    return;
  }
  stage.await("a holds");
  // The copy has the socket in which the tree's tracker would listen.
  stage.fork_stranger([&stage] {
    stage.tell("the stranger lives");
    stage.await("stranger, go");
  });
  stage.stay_until_killed();
}

void client_a(Stage& stage) {
  const Resource file = stage.product().file("of_the_tree.bin");
  if (!stage.product().join() || !stage.product().hold(file)) {
    return;
  }
  stage.tell("a holds");
  if (!stage.await("the stranger lives")) {
    return;
  }
  stage.kill("root");
  stage.kill("tracker");
  if (stage.product().client().probe()) {
    stage.refute("error-surfaced: a tree without root and tracker says so", "probe succeeded");
  }
  stage.tell("stranger, go");
}

}  // namespace

Scenario a_fork_of_the_root_keeps_no_dead_tree_alive() {
  return {
      .name = "tracker/a_fork_of_the_root_keeps_no_dead_tree_alive",
      .sentence =
          "Root and tracker are killed, and a fork of the root still has their socket: who is "
          "left gets errors and no hang.",
      .rows = {"T8", "T6"},
      .roles = {{"root", root}, {"client_a", client_a}},
      .kernel_only = true,
  };
}

}  // namespace lastref::harness
