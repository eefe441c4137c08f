#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  if (!stage.lead() || !stage.start("client_a")) {
    return;
  }
  stage.await("the stranger lives");
  stage.kill("client_a");
  // Until all is quiet: then the tracker's counts are looked at, and the dead must hold nothing.
  stage.await("never said");
  stage.tell("stranger, go");
}

void client_a(Stage& stage) {
  const Resource file = stage.file("of_the_parent.bin");
  if (!stage.join() || !stage.register_name(file) || !stage.make(file)) {
    return;
  }
  stage.fork_stranger([&stage] {
    stage.tell("the stranger lives");
    stage.await("stranger, go");
  });
  stage.await("never said");
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
