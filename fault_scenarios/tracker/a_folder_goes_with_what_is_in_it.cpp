#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource folder = stage.product().folder("deep");
  const Resource inner = stage.product().file("deep/inner/leaf.bin");
  const Resource leaf = stage.product().file("deep/leaf.bin");
  if (!stage.product().lead() || !stage.product().register_name(folder) ||
      !stage.product().make(folder) || !stage.product().make(leaf)) {
    return;
  }
  if (!stage.os().make_folder(folder.name + "/inner", 0700) || !stage.product().make(inner)) {
    return;
  }
  static_cast<void>(stage.product().release(folder));
  static_cast<void>(stage.product().client().probe());
}

}  // namespace

Scenario a_folder_goes_with_what_is_in_it() {
  return {
      .name = "tracker/a_folder_goes_with_what_is_in_it",
      .sentence =
          "A folder of files, folders and symlinks is deleted; what the symlinks point at "
          "is not.",
      .rows = {"T4"},
      .roles = {{"root", root}},
  };
}

}  // namespace lastref::harness
