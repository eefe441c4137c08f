#include "fault_scenarios/arrays/arrays.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Array array = numbered();
  if (!stage.product().lead()) {
    return;
  }
  // Below the root of the file system, wherever the working folder is.
  const auto working = stage.os().working_folder();
  if (!working) {
    return;
  }
  std::string up;
  for (const char each : *working) {
    up += each == '/' ? "../" : "";
  }
  Parent parent(stage, {.root = up + stage.folder().substr(1)});
  if (!parent || !stage.start("worker") || !parent.send("array", array)) {
    return;
  }
  if (!parent.last_file().starts_with(stage.folder() + "/lastref_memmapping_folder_")) {
    stage.refute("M1: a relative folder is found from anywhere", parent.last_file());
  }
  await_arrival(stage, "array");
  parent.arrived("array");
  static_cast<void>(parent.clean_up());
}

}  // namespace

Scenario a_relative_folder_is_made_absolute() {
  return {
      .name = "arrays/a_relative_folder_is_made_absolute",
      .sentence = "A folder for temporary files is given as a relative path: workers find it too.",
      .rows = {"M1"},
      .roles = {{"root", root}, {"worker", receive_an_array}},
  };
}

}  // namespace lastref::harness
