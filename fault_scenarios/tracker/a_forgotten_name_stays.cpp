#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource kept = stage.file("kept.bin");
  if (!stage.lead() || !stage.register_name(kept) || !stage.make(kept)) {
    return;
  }
  if (!stage.hold(kept) || !stage.forget(kept)) {
    return;
  }
  static_cast<void>(stage.client().probe());
  stage.must_exist(kept);
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
