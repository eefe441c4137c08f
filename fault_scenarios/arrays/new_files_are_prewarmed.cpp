#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Sends an array through a file in a folder, with touched pages if the reducer finds that useful.
Status send_through(Stage& stage, const std::string& folder, const std::string& signal) {
  const Array array = numbered();
  LASTREF_TRY(
      parent,
      Parent::make(
          stage, {.root = folder}, nullptr, {.max_nbytes = large, .prewarm = Prewarm::automatic}));
  LASTREF_CHECK(parent.send(signal, array));
  await_arrival(stage, signal);
  return first_failure({parent.arrived(signal), parent.clean_up()});
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(stage.start("worker"));
  const auto send = [&](const char* signal, const std::string& folder) {
    Status sent = send_through(stage, folder, signal);
    if (!sent) {
      stage.send(signal, {});  // The receiver of this signal continues with the next one.
    }
    return sent;
  };
  return first_failure(
      {send("on shared memory", stage.folder()), send("elsewhere", stage.spare_folder())});
}

Status worker(Stage& stage) {
  return receive_arrays(stage, {"on shared memory", "elsewhere"});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A reducer touches the pages of new files where that helps. It sends one array through "
          "shared memory and one elsewhere. Both arrive, whatever fails while pages are touched.",
      .rows = {"R10"},
      .roles = {{"root", root}, {"worker", worker}},
  };
});

}  // namespace
}  // namespace lastref::harness
