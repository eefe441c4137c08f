#include "fault_scenarios/support/tracker_by_hand.hpp"
#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

/// Somebody who starts a tracker for a tree that has one: by hand, or because they think that it
/// has died.
void start_another(Stage& stage, const std::string& tree) {
  if (const auto tracker = start_tracker(stage, {tree})) {
    wait_for_end(stage, *tracker);
  }
}

void root(Stage& stage) {
  const Resource file = stage.product().file("counted_by_one.bin");
  if (!stage.product().lead() || !stage.product().register_name(file) ||
      !stage.product().make(file)) {
    return;
  }
  const auto tree = stage.product().client().tree();
  if (!tree) {
    return;
  }
  start_another(stage, *tree);
  stage.product().must_exist(file);
  static_cast<void>(stage.product().client().probe());
  static_cast<void>(stage.product().release(file));
}

}  // namespace

Scenario a_second_tracker_gives_way() {
  return {
      .name = "tracker/a_second_tracker_gives_way",
      .sentence =
          "A tree has one tracker: a second one ends at once, and touches neither the ledger nor "
          "a name.",
      .rows = {"T6", "T1"},
      .roles = {{"root", root}},
      .expected_noise = {"gave up: lock_range the tracker's lock"},
  };
}

}  // namespace lastref::harness
