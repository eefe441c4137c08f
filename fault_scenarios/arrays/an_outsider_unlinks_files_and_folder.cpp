#include <vector>

#include "fault_scenarios/arrays/arrays.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Array array = numbered();
  if (!stage.product().lead()) {
    return;
  }
  Parent parent(stage);
  if (!parent || !stage.start("worker") || !parent.send("first", array)) {
    return;
  }
  await_arrival(stage, "first");
  parent.arrived("first");
  const std::string gone = parent.last_file();
  stage.outside().unlink(gone);
  if (!parent.send("second", array)) {
    return;
  }
  if (parent.last_file() == gone) {
    stage.refute("R4: what is gone is dumped anew, under another name", gone + " was sent again");
  }
  await_arrival(stage, "second");
  parent.arrived("second");
  // And the whole folder under the hands of its owner.
  const auto folder = parent.resources().resolve_temp_folder_name();
  stage.outside().unlink(parent.last_file());
  if (!folder || !stage.outside().rmdir(folder->path) || !parent.send("third", array)) {
    return;
  }
  await_arrival(stage, "third");
  parent.arrived("third");
  static_cast<void>(parent.clean_up());
}

void worker(Stage& stage) {
  if (!stage.product().join()) {
    return;
  }
  Worker worker(stage);
  std::vector<Array> arrived;
  for (const char* word : {"first", "second", "third"}) {
    if (const auto array = worker.receive(word)) {
      arrived.push_back(*array);
    }
  }
  for (const Array& array : arrived) {
    must_equal(stage, array, numbered());  // Whose file is long gone.
  }
}

}  // namespace

Scenario an_outsider_unlinks_files_and_folder() {
  return {
      .name = "arrays/an_outsider_unlinks_files_and_folder",
      .sentence =
          "Somebody unlinks the file of an array, and then the folder: the next time it is sent it "
          "is "
          "dumped anew, and those who have mapped it see it still.",
      .rows = {"R4", "R7", "M3"},
      .roles = {{"root", root}, {"worker", worker}},
  };
}

}  // namespace lastref::harness
