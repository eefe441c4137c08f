#include "fault_scenarios/storage/storage.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

/// With what the storage is made to lack, and what the kernel says of that.
void fill_up(Stage& stage, std::uint64_t bytes, std::uint64_t inodes) {
  const Array array = numbered();
  const Array other = numbered(3);
  if (!stage.product().lead()) {
    return;
  }
  Parent parent(stage);
  if (!parent || !parent.send("array", array) || !stage.start("worker")) {
    return;
  }
  const auto folder = parent.resources().resolve_temp_folder_name();
  if (!folder || !stage.limits().storage(bytes, inodes)) {
    return;
  }
  const Status refused = parent.send("other", other);
  stage.limits().free_storage();
  if (refused) {
    if (stage.is_undisturbed()) {
      stage.refute("R12: a dump that finds no room is an error", "it was sent");
    }
    return;
  }
  must_name_the_variable(stage, refused.error());
  must_hold_one_file(stage, folder->path);
  if (!parent.send("other", other)) {
    return;
  }
  for (const char* word : {"array", "other"}) {
    await_arrival(stage, word);
    parent.arrived(word);
  }
  static_cast<void>(parent.clean_up());
}

void root_without_bytes(Stage& stage) {
  fill_up(stage, page_size / 2, 64);
}

void root_without_inodes(Stage& stage) {
  fill_up(stage, 64 * page_size, 0);
}

void worker(Stage& stage) {
  if (!stage.product().join()) {
    return;
  }
  Worker worker(stage);
  if (const auto array = worker.receive("array")) {
    must_equal(stage, *array, numbered());
  }
  if (const auto other = worker.receive("other")) {
    must_equal(stage, *other, numbered(3));
  }
}

}  // namespace

Scenario a_full_dump_leaves_nothing() {
  return {
      .name = "storage/a_full_dump_leaves_nothing",
      .sentence =
          "Shared memory runs full in the middle of a later dump: that is an error which names the "
          "variable to set, nothing stays of the file, and with room again the same array is sent.",
      .rows = {"R4", "R12", "M1"},
      .roles = {{"root", root_without_bytes}, {"worker", worker}},
      .failing_operations = {"reduce"},
  };
}

Scenario no_inode_is_left_for_a_dump() {
  Scenario made = a_full_dump_leaves_nothing();
  made.name = "storage/no_inode_is_left_for_a_dump";
  made.sentence =
      "Shared memory has no inode left when a dump begins: an error that names the variable to "
      "set, "
      "and nothing stays.";
  made.roles.front().body = root_without_inodes;
  return made;
}

}  // namespace lastref::harness
