#include <lastref/owners.hpp>

#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

/// Where the trees are: beside the folder of the run's files.
std::string trees_of(const Stage& stage) {
  return stage.folder().substr(0, stage.folder().rfind('/')) + "/runtime";
}

void must_not_run_yet(Stage& stage) {
  const auto folder = stage.os().open(trees_of(stage), {.folder = true});
  const os::UniqueFd trees(stage.os(), folder ? *folder : os::Fd::none);
  const auto entries = stage.os().read_folder(trees.get());
  if (entries && !entries->empty()) {
    stage.refute("T1: nothing is created and no tracker runs before the first use",
                 entries->front().name);
  }
}

void root(Stage& stage) {
  const Resource file = stage.product().file("counted.bin");
  {
    const auto unused = tracker::Client::lead(stage.os());
    must_not_run_yet(stage);
  }
  if (!stage.product().lead() || !stage.product().register_name(file) ||
      !stage.product().make(file)) {
    return;
  }
  stage.product().must_exist(file);
  static_cast<void>(stage.product().release(file));
  static_cast<void>(stage.product().client().probe());
}

}  // namespace

// Who interrupts is the matrix: at each call of the tracker, from its first one on, SIGINT and
// SIGTERM come, and the run has to look as if they had not.
Scenario a_tracker_is_deaf_to_interrupts() {
  return {
      .name = "tracker/a_tracker_is_deaf_to_interrupts",
      .sentence =
          "The first use starts the tracker, which hears neither SIGINT nor SIGTERM from its "
          "first instant to its last.",
      .rows = {"T1"},
      .roles = {{"root", root}},
  };
}

}  // namespace lastref::harness
