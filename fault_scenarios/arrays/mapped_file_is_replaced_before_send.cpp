#include <optional>
#include <utility>

#include <lastref/npy.hpp>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Result<Array> map(Stage& stage, const std::string& name) {
  std::optional<Array> mapped;
  LASTREF_CHECK(stage.product().operation("map", [&]() -> Status {
    LASTREF_TRY(array, map_npy(stage.os(), name, MapMode::read));
    mapped = std::move(array);
    return ok();
  }));
  return *std::move(mapped);
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("users.npy");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(dump(stage, file.name, few_numbered()));
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_TRY(mapped, map(stage, file.name));
  stage.outside().unlink(file.name);
  LASTREF_CHECK(dump(stage, file.name, numbered(/*factor=*/2)));
  LASTREF_CHECK(stage.start("worker"));
  LASTREF_CHECK(parent.send("array", mapped));
  await_arrival(stage, "array");
  return first_failure({parent.arrived("array"), product.release(file)});
}

Status worker(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  Worker receiver(stage);
  const Result<Array> array = receiver.receive("array");
  if (array) {
    must_equal(stage, *array, few_numbered());
  }
  return status_of(array);
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A user maps a file, and another file gets its name before the map is sent. The receiver "
          "gets the contents that were mapped.",
      .rows = {"E2", "R3"},
      .roles = {{"root", root}, {"worker", worker}},
  };
});

}  // namespace
}  // namespace lastref::harness
