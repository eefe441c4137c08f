#include "fault_scenarios/storage/storage.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Array array = numbered();
  if (!stage.product().lead()) {
    return;
  }
  Parent parent(stage);
  // The ledger has its page from the start; one for half of the elements.
  if (!parent || !parent.resources().resolve_temp_folder_name() ||
      !stage.limits().storage(page_size, 64)) {
    return;
  }
  const Status sent = parent.send("array", array);
  stage.limits().free_storage();
  if (!sent) {
    return;
  }
  must_be_spare(stage, parent.last_file());
  if (!stage.start("worker")) {
    return;
  }
  await_arrival(stage, "array");
  parent.arrived("array");
  static_cast<void>(parent.clean_up());
}

}  // namespace

Scenario a_full_first_dump_goes_elsewhere() {
  return {
      .name = "storage/a_full_first_dump_goes_elsewhere",
      .sentence =
          "Shared memory runs full in the middle of a context's first dump: the array is dumped to "
          "the "
          "next place, and nothing of the attempt stays.",
      .rows = {"R12", "M1"},
      .roles = {{"root", root}, {"worker", receive_an_array}},
  };
}

}  // namespace lastref::harness
