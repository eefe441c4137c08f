#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource file = stage.file("of_the_parent.bin");
  const Resource other = stage.file("of_the_child.bin");
  if (!stage.lead() || !stage.register_name(file) || !stage.make(file)) {
    return;
  }
  stage.fork_stranger([&] {
    static_cast<void>(stage.client().register_name(other));
    // Not the child's: reported, and harmless.
    static_cast<void>(stage.client().release(file));
    static_cast<void>(stage.client().release(other));
    static_cast<void>(stage.client().probe());
    stage.tell("the child has spoken");
  });
  stage.await("the child has spoken");
  static_cast<void>(stage.client().probe());
  stage.must_exist(file);
  static_cast<void>(stage.release(file));
}

}  // namespace

Scenario a_forked_child_speaks_for_itself() {
  return {
      .name = "tracker/a_forked_child_speaks_for_itself",
      .sentence =
          "A forked child that uses the inherited client joins under its own name, and "
          "its end takes nothing of its parent's along.",
      .rows = {"T8"},
      .roles = {{"root", root}},
      .expected_noise = {"releases a name that it does not hold: file:"},
      .kernel_only = true,
  };
}

}  // namespace lastref::harness
