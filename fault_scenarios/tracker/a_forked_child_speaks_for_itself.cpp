#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource file = stage.product().file("of_the_parent.bin");
  const Resource other = stage.product().file("of_the_child.bin");
  if (!stage.product().lead() || !stage.product().register_name(file) ||
      !stage.product().make(file)) {
    return;
  }
  stage.fork_stranger([&] {
    static_cast<void>(stage.product().client().register_name(other));
    // Not the child's: reported, and harmless.
    static_cast<void>(stage.product().client().release(file));
    static_cast<void>(stage.product().client().release(other));
    static_cast<void>(stage.product().client().probe());
    stage.tell("the child has spoken");
  });
  stage.await("the child has spoken");
  static_cast<void>(stage.product().client().probe());
  stage.product().must_exist(file);
  static_cast<void>(stage.product().release(file));
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
