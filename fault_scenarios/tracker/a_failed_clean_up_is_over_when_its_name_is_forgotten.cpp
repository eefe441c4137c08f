#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

/// Registers a file, and lets go of it while its name is a folder's: that cannot be cleaned up, and
/// is left.
bool fail_once(Stage& stage, const Resource& file) {
  if (!stage.product().register_name(file) || !stage.outside().make_folder(file.name, 0700) ||
      !stage.product().release(file)) {
    return false;
  }
  // One round lets go of it, the next one has tried.
  static_cast<void>(stage.product().client().probe());
  static_cast<void>(stage.product().client().probe());
  return stage.outside().rmdir(file.name);
}

void root(Stage& stage) {
  const Resource again = stage.product().file("again.bin");
  const Resource over = stage.product().file("over.bin");
  if (!stage.product().lead() || !fail_once(stage, again) || !fail_once(stage, over)) {
    return;
  }
  if (stage.product().register_name(again) && stage.product().make(again)) {
    static_cast<void>(stage.product().forget(again));
  }
  if (stage.product().forget(over)) {
    static_cast<void>(stage.product().make(over));
  }
}

}  // namespace

Scenario a_failed_clean_up_is_over_when_its_name_is_forgotten() {
  return {
      .name = "tracker/a_failed_clean_up_is_over_when_its_name_is_forgotten",
      .sentence =
          "Two names could not be cleaned up. One is registered again and forgotten, the other one "
          "forgotten as it is: what has the names from then on stays, past the end of the tree and "
          "the next start.",
      .rows = {"E4", "T3"},
      .roles = {{"root", root}},
      .expected_noise = {"could not clean up"},
      // A slow tracker finds nothing there any more, and has cleaned up.
      .possible_noise = {"forgets an unknown name"},
      // A tree that dies while something is in the way stays as long as that.
      .stays = {"file:again.bin", "file:over.bin", "folder:runtime"},
  };
}

}  // namespace lastref::harness
