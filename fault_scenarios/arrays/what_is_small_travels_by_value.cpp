#include <lastref/npy.hpp>

#include "fault_scenarios/arrays/arrays.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

constexpr std::int64_t few = 50;
constexpr const char* claim = "R5: all but large arrays of plain elements travel by value";

Array small() {
  return numbered().slice(std::vector<Slice>{{.stop = few}}).value().copy().value();
}

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  LASTREF_TRY(parent, Parent::make(stage, {.root = stage.folder()}));
  LASTREF_CHECK(stage.start("worker"));
  LASTREF_CHECK(parent.send("small", small()));
  if (!parent.last_file().empty()) {
    stage.refute(claim, "a small one is at " + parent.last_file());
  }
  // Objects mean something to one interpreter alone, whatever their number.
  const Status reduced = product.operation("reduce objects", [&]() -> Status {
    LASTREF_TRY(objects, Array::zeros(DType::parse("|O").value(), {1000}));
    LASTREF_TRY(sent, parent.reducer().reduce(objects));
    if (!std::holds_alternative<ByValue>(sent.reduction)) {
      stage.refute(claim, "objects are in a file");
    }
    return ok();
  });
  if (const auto names = stage.outside().list(stage.folder()); !names.empty()) {
    stage.refute("M2: nothing is made before an array is dumped", names.front());
  }
  await_arrival(stage, "small");
  return first_failure({reduced, parent.clean_up()});
}

Status worker(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  Worker worker(stage);
  LASTREF_TRY(array, worker.receive("small"));
  must_equal(stage, array, small());
  return ok();
}

}  // namespace

Scenario what_is_small_travels_by_value() {
  return {
      .name = "arrays/what_is_small_travels_by_value",
      .sentence =
          "Small arrays and arrays of objects travel without a file, and no folder is made for "
          "them.",
      .rows = {"R5", "M2"},
      .roles = {{"root", root}, {"worker", worker}},
  };
}

}  // namespace lastref::harness
