#include <vector>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const Array array = numbered();
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(stage.start("worker"));
  LASTREF_CHECK(parent.send("first", array));
  await_arrival(stage, "first");
  LASTREF_CHECK(parent.arrived("first"));
  const std::string unlinked = parent.last_file();
  stage.outside().unlink(unlinked);
  LASTREF_CHECK(parent.send("second", array));
  if (parent.last_file() == unlinked) {
    stage.refute("R4: an array without its file is dumped again, under another name",
                 unlinked + " was sent again");
  }
  await_arrival(stage, "second");
  LASTREF_CHECK(parent.arrived("second"));
  // And the whole folder, while its owner uses it.
  LASTREF_TRY(folder, parent.resources().resolve_temp_folder_name());
  stage.outside().unlink(parent.last_file());
  if (!stage.outside().rmdir(folder.path)) {
    return failure(std::errc::io_error, folder.path);
  }
  LASTREF_CHECK(parent.send("third", array));
  await_arrival(stage, "third");
  return first_failure({parent.arrived("third"), parent.clean_up()});
}

Status worker(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  Worker worker(stage);
  std::vector<Array> arrived;
  Status received;
  for (const char* signal : {"first", "second", "third"}) {
    const Result<Array> array = worker.receive(signal);
    if (array) {
      arrived.push_back(*array);
    }
    received = first_failure({received, status_of(array)});
  }
  for (const Array& array : arrived) {
    must_equal(stage, array, numbered());  // Its file was unlinked long before.
  }
  return received;
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "An outsider unlinks the file of an array, and later the folder. The next send dumps the "
          "array again, and processes that mapped it still see it.",
      .rows = {"R4", "R7", "M3"},
      .roles = {{"root", root}, {"worker", worker}},
  };
});

}  // namespace
}  // namespace lastref::harness
