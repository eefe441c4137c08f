#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const std::vector<Resource> all = {stage.product().folder("left"),
                                     stage.product().file("left/inside.bin"),
                                     stage.product().semaphore("lastref-left"),
                                     stage.product().shm("lastref-left")};
  if (!stage.product().lead()) {
    return;
  }
  for (const Resource& resource : all) {
    if (!stage.product().register_name(resource) || !stage.product().make(resource)) {
      return;
    }
  }
}

}  // namespace

Scenario the_last_process_leaves_each_type() {
  return {
      .name = "tracker/the_last_process_leaves_each_type",
      .sentence =
          "The last process ends and holds one of each type: all is cleaned, folders "
          "last, with a line for each type.",
      .rows = {"T5", "T4"},
      .roles = {{"root", root}},
      .expected_noise = {"the last process of the tree left 1 file: file:",
                         "the last process of the tree left 1 folder: folder:",
                         "the last process of the tree left 1 semlock: semlock:",
                         "the last process of the tree left 1 shm: shm:"},
  };
}

}  // namespace lastref::harness
