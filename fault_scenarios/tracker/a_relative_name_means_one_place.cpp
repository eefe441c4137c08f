#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource file = stage.product().file("near.bin");
  if (!stage.product().lead()) {
    return;
  }
  const auto working = stage.os().working_folder();
  if (!working) {
    return;
  }
  Resource relative = file;
  relative.name = file.name.substr(1);
  for (const char each : *working) {
    relative.name.insert(0, each == '/' ? "../" : "");
  }
  // Noted as a word of its own: the oracles count names as they are written.
  const Status registered = stage.product().operation(
      "register_relative", [&] { return stage.product().client().register_name(relative); });
  if (!registered || !stage.product().make(file)) {
    return;
  }
  const auto counts = stage.product().client().counts();
  if (counts && (counts->size() != 1 || !counts->front().resource.name.starts_with(*working))) {
    stage.refute("E2: a name that is counted says where the thing is",
                 counts->empty() ? "nothing is counted" : counts->front().resource.name);
  }
  static_cast<void>(stage.product().client().release(relative));
}

}  // namespace

Scenario a_relative_name_means_one_place() {
  return {
      .name = "tracker/a_relative_name_means_one_place",
      .sentence =
          "A file is registered by a relative name: it is counted, and removed, by one that says "
          "where it is.",
      .rows = {"E2", "T4"},
      .roles = {{"root", root}},
  };
}

}  // namespace lastref::harness
