#include <lastref/npy.hpp>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Of the largest array that is still small, and of smaller ones.
constexpr Parameter<std::uint32_t> few = {.name = "elements",
                                          .usual = large / sizeof(std::int32_t),
                                          .values = {0, 1, large / sizeof(std::int32_t)},
                                          .unit = "of 4 bytes"};
constexpr int reports_all = 2;
constexpr const char* claim = "R5: only large arrays of plain elements are sent through files";

Array small(const Stage& stage) {
  return numbered(1, stage.value(few));
}

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  LASTREF_TRY(
      parent,
      Parent::make(
          stage, {.root = stage.folder()}, nullptr, {.max_nbytes = large, .verbose = reports_all}));
  LASTREF_CHECK(stage.start("worker"));
  const bool is_unread = stage.outside().leave_messages_unread();
  LASTREF_CHECK(parent.send("small", small(stage)));
  LASTREF_CHECK(parent.send("small", small(stage)));
  if (is_unread) {
    stage.outside().read_messages_again();
  }
  if (!parent.last_file().empty()) {
    stage.refute(claim, "a small array is at " + parent.last_file());
  }
  // Objects are valid in one interpreter only, whatever their number.
  const Status reduced = product.operation("reduce objects", [&]() -> Status {
    LASTREF_TRY(objects, Array::zeros(DType::parse("|O").value(), {1000}));
    LASTREF_TRY(sent, parent.reducer().reduce(objects));
    if (!std::holds_alternative<ByValue>(sent.reduction)) {
      stage.refute(claim, "objects are in a file");
    }
    return ok();
  });
  if (const auto names = stage.outside().list(stage.folder()); !names.empty()) {
    stage.refute("M2: nothing is created before an array is dumped", names.front());
  }
  await_arrival(stage, "small");
  return first_failure({reduced, parent.clean_up()});
}

Status worker(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  Worker worker(stage);
  LASTREF_TRY(array, worker.receive("small"));
  must_equal(stage, array, small(stage));
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Small arrays and arrays of objects are sent without a file, and no folder is made for "
          "them. Messages about them that no process read are counted in the next one.",
      .rows = {"R4", "R5", "M2", "E5"},
      .roles = {{"root", root}, {"worker", worker}},
      .parameters = {few},
      .expected_noise = {"lastref: 2 messages before this were not read",
                         "lastref: sends an array by value"},
  };
});

}  // namespace
}  // namespace lastref::harness
