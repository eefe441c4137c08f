#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource removed = stage.file("removed_by_another.bin");
  const Resource never = stage.file("never_made.bin");
  const Resource folder = stage.folder_of("never_made");
  if (!stage.lead() || !stage.register_name(removed) || !stage.make(removed)) {
    return;
  }
  if (!stage.register_name(never) || !stage.register_name(folder) ||
      !stage.os().unlink(removed.name)) {
    return;
  }
  static_cast<void>(stage.release(removed));
  static_cast<void>(stage.release(never));
  static_cast<void>(stage.release(folder));
  static_cast<void>(stage.client().probe());
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
