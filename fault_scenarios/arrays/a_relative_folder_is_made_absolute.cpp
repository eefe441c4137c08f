#include "fault_scenarios/arrays/arrays.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const Array array = numbered();
  LASTREF_CHECK(stage.product().lead());
  // Below the root of the file system, wherever the working folder is.
  LASTREF_TRY(working, stage.os().working_folder());
  std::string up;
  for (const char each : working) {
    up += each == '/' ? "../" : "";
  }
  LASTREF_TRY(parent, Parent::make(stage, {.root = up + stage.folder().substr(1)}));
  LASTREF_CHECK(stage.start("worker"));
  LASTREF_CHECK(parent.send("array", array));
  if (!parent.last_file().starts_with(stage.folder() + "/lastref_memmapping_folder_")) {
    stage.refute("M1: a relative folder is found from anywhere", parent.last_file());
  }
  await_arrival(stage, "array");
  return first_failure({parent.arrived("array"), parent.clean_up()});
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
