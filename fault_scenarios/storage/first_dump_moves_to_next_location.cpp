#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Shared memory has the needed space, but less than is reserved for others.
Status choose_elsewhere(Stage& stage, Parent& parent) {
  LASTREF_CHECK(parent.begin("small"));
  LASTREF_TRY(folder, parent.resources().resolve_temp_folder_name());
  must_be_spare(stage, folder.path);
  return parent.begin("call");
}

Status root(Stage& stage) {
  const Array array = numbered();
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  // The ledger has its page from the start; one for half of the elements.
  LASTREF_CHECK(parent.resources().resolve_temp_folder_name());
  if (!stage.limits().storage(page_size, 64)) {
    return ok();
  }
  const Status chosen = choose_elsewhere(stage, parent);
  const Status sent = first_failure({chosen, parent.send("array", array)});
  stage.limits().free_storage();
  LASTREF_CHECK(sent);
  must_be_spare(stage, parent.last_file());
  LASTREF_CHECK(stage.start("worker"));
  await_arrival(stage, "array");
  return first_failure({parent.arrived("array"), parent.clean_up()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Shared memory has less space than is reserved for others when one context's folder is "
          "chosen. It runs full during another context's first dump. Both use the next location, "
          "and nothing of the attempt remains.",
      .rows = {"R12", "M1"},
      .roles = {{"root", root}, {"worker", receive_an_array}},
  };
});

}  // namespace
}  // namespace lastref::harness
