#include <optional>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// The result of one thread.
struct Sending {
  std::optional<Sent> sent;
  Status status;
};

void send(Stage& stage, Parent& parent, const Array& array, Sending& sending) {
  sending.status = stage.product().operation("reduce", [&]() -> Status {
    LASTREF_TRY(sent, parent.reducer().reduce(array));
    sending.sent = std::move(sent);
    return ok();
  });
}

Status arrive(Stage& stage, Sending& sending) {
  return stage.product().operation("arrived",
                                   [&] { return sending.sent ? sending.sent->arrived() : ok(); });
}

Status root(Stage& stage) {
  const Array array = numbered();
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  Sending here;
  Sending there;
  const auto thread = stage.os().start_thread([&] { send(stage, parent, array, there); });
  send(stage, parent, array, here);
  if (thread) {
    (*thread)->join();
  }
  if (here.sent) {
    LASTREF_TRY(folder, parent.resources().resolve_temp_folder_name());
    must_hold_one_file(stage, folder.path);
  }
  const Status arrived = first_failure({arrive(stage, here), arrive(stage, there)});
  return first_failure({status_of(thread), here.status, there.status, arrived, parent.clean_up()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Two threads send one array at the same time. It is dumped once, and both have the file.",
      .rows = {"R4"},
      .roles = {{"root", root}},
  };
});

}  // namespace
}  // namespace lastref::harness
