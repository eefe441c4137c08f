#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

constexpr int references = 3000;

void root(Stage& stage) {
  const Resource file = stage.product().file("many_times.bin");
  if (!stage.product().lead() || !stage.product().register_name(file) ||
      !stage.product().make(file)) {
    return;
  }
  for (int count = 1; count < references; ++count) {
    if (!stage.product().client().hold(file)) {
      return;
    }
  }
  if (!stage.product().client().probe()) {
    return;
  }
  stage.stop("tracker");
  for (int count = 0; count < references - 1; ++count) {
    static_cast<void>(stage.product().client().release(file));
  }
  if (!stage.resume("tracker")) {
    stage.refute("T10: no release waits for a stopped tracker", "it had to go on first");
  }
  if (!stage.product().client().probe()) {
    return;
  }
  stage.product().must_exist(file);
  const auto counts = stage.product().client().counts();
  if (counts && (counts->size() != 1 || counts->front().count != 1)) {
    stage.refute("refcount-exact: every release counts", "not 1 left of " + to_text(file));
  }
  static_cast<void>(stage.product().release(file));
}

}  // namespace

Scenario a_stopped_tracker_blocks_no_release() {
  return {
      .name = "tracker/a_stopped_tracker_blocks_no_release",
      .sentence =
          "With the tracker stopped, far more releases than a socket holds return at "
          "once; when it goes on, all of them count.",
      .rows = {"T10"},
      .roles = {{"root", root}},
      .in_matrix = false,
  };
}

}  // namespace lastref::harness
