#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource removed = stage.product().file("removed_by_another.bin");
  const Resource never = stage.product().file("never_made.bin");
  const Resource folder = stage.product().folder("never_made");
  if (!stage.product().lead() || !stage.product().register_name(removed) ||
      !stage.product().make(removed)) {
    return;
  }
  if (!stage.product().register_name(never) || !stage.product().register_name(folder) ||
      !stage.os().unlink(removed.name)) {
    return;
  }
  static_cast<void>(stage.product().release(removed));
  static_cast<void>(stage.product().release(never));
  static_cast<void>(stage.product().release(folder));
  static_cast<void>(stage.product().client().probe());
}

}  // namespace

Scenario what_is_gone_is_clean() {
  return {
      .name = "tracker/what_is_gone_is_clean",
      .sentence =
          "Names whose things were never made, or were removed by somebody else, end in "
          "silence.",
      .rows = {"T7"},
      .roles = {{"root", root}},
  };
}

}  // namespace lastref::harness
