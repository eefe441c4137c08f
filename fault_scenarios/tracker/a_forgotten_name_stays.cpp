#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource kept = stage.product().file("kept.bin");
  if (!stage.product().lead() || !stage.product().register_name(kept) ||
      !stage.product().make(kept)) {
    return;
  }
  if (!stage.product().hold(kept) || !stage.product().forget(kept)) {
    return;
  }
  static_cast<void>(stage.product().client().probe());
  stage.product().must_exist(kept);
}

}  // namespace

Scenario a_forgotten_name_stays() {
  return {
      .name = "tracker/a_forgotten_name_stays",
      .sentence =
          "A name that was forgotten is nobody's business any more, whatever its count: "
          "the file stays, even past the next start.",
      .rows = {"T3"},
      .roles = {{"root", root}},
      .stays = {"file:kept.bin"},
  };
}

}  // namespace lastref::harness
