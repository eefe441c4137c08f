#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Checks that an error names its file.
void must_name_the_file(Stage& stage, const Error& error, const std::string& folder) {
  if (stage.is_undisturbed() && error.subject.find(folder + '/') == std::string::npos) {
    stage.refute("E10: the error of a dump names its file", describe(error));
  }
}

/// Sends an array while the storage has space for only `bytes` and `inodes`.
Status fill_up(Stage& stage, std::uint64_t bytes, std::uint64_t inodes) {
  const Array array = numbered();
  const Array other = numbered(3);
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(parent.send("array", array));
  LASTREF_CHECK(stage.start("worker"));
  LASTREF_TRY(folder, parent.resources().resolve_temp_folder_name());
  if (!stage.limits().storage(bytes, inodes)) {
    return ok();
  }
  const Status refused = parent.send("other", other);
  stage.limits().free_storage();
  if (refused) {
    if (stage.is_undisturbed()) {
      stage.refute("R12: a dump without space is an error", "it was sent");
    }
    return ok();
  }
  must_name_the_variable(stage, refused.error());
  must_name_the_file(stage, refused.error(), folder.path);
  must_hold_one_file(stage, folder.path);
  LASTREF_CHECK(parent.send("other", other));
  for (const char* signal : {"array", "other"}) {
    await_arrival(stage, signal);
    LASTREF_CHECK(parent.arrived(signal));
  }
  return parent.clean_up();
}

Status root_without_bytes(Stage& stage) {
  return fill_up(stage, page_size / 2, 64);
}

Status root_without_inodes(Stage& stage) {
  return fill_up(stage, 64 * page_size, 0);
}

Status worker(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  Worker worker(stage);
  const Result<Array> array = worker.receive("array");
  if (array) {
    must_equal(stage, *array, numbered());
  }
  LASTREF_TRY(other, worker.receive("other"));
  must_equal(stage, other, numbered(3));
  return status_of(array);
}

Scenario dump_fails(std::string sentence, Body root) {
  return {
      .sentence = std::move(sentence),
      .rows = {"R4", "R12", "M1"},
      .roles = {{"root", std::move(root)}, {"worker", worker}},
      .failing_operations = {"reduce"},
  };
}

const RegisteredScenario later_dump_hits_full_shared_memory([] {
  return dump_fails(
      "Shared memory runs full during a later dump. The error names the variable to set, and "
      "nothing of the file remains. With space again the same array is sent.",
      root_without_bytes);
});

const RegisteredScenario dump_without_inodes([] {
  Scenario scenario = dump_fails(
      "Shared memory has no free inode when a dump begins. The error names the variable to set, "
      "and nothing remains.",
      root_without_inodes);
  scenario.name = "storage/dump_without_inodes";
  return scenario;
});

}  // namespace
}  // namespace lastref::harness
