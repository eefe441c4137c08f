#include <optional>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/platform/named_enum.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

LASTREF_NAMED_ENUM(Other, (sends, "sends"), (invalidates, "invalidates"), (cleans, "cleans"));
constexpr Parameter<Other> other = {.name = "other", .usual = Other::sends};

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

/// What another thread does meanwhile.
void do_other(Stage& stage, Parent& parent, const Array& array, Sending& sending) {
  switch (stage.value(other)) {
    case Other::sends:
      return send(stage, parent, array, sending);
    case Other::invalidates:
      sending.status = stage.product().operation(
          "invalidate", [&] { return parent.reducer().invalidate(array); });
      return;
    case Other::cleans:
      sending.status = parent.clean_up();
      return;
  }
}

Status root(Stage& stage) {
  const Array array = numbered();
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  Sending here;
  Sending there;
  Sending before;
  if (stage.value(other) != Other::sends) {
    send(stage, parent, array, before);
    LASTREF_CHECK(arrive(stage, before));  // From now on only the manager keeps the file.
  }
  const auto thread = stage.os().start_thread([&] { do_other(stage, parent, array, there); });
  send(stage, parent, array, here);
  if (thread) {
    (*thread)->join();
  }
  if (here.sent && stage.value(other) == Other::sends) {
    LASTREF_TRY(folder, parent.resources().resolve_temp_folder_name());
    must_hold_one_file(stage, folder.path);
  }
  if (stage.value(other) == Other::cleans && !here.status &&
      here.status.error().code == std::errc::operation_canceled) {
    here.status = ok();
  }
  const Status arrived = first_failure({arrive(stage, here), arrive(stage, there)});
  return first_failure(
      {status_of(thread), before.status, here.status, there.status, arrived, parent.clean_up()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Two threads send one array at the same time. It is dumped once, and both have the file.",
      .rows = {"R4"},
      .roles = {{"root", root}},
      .parameters = {other},
      .failing_operations = {"reduce"},
  };
});

}  // namespace
}  // namespace lastref::harness
