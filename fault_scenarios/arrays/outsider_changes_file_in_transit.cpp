#include <lastref/npy.hpp>
#include <lastref/owners.hpp>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("users.npy");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.operation("dump", [&]() -> Status {
    LASTREF_TRY(fd, os::open_file(stage.os(), file.name, {.write = true, .create = true}));
    LASTREF_CHECK(write_npy(stage.os(), fd.get(), numbered()));
    return fd.close();
  }));
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(stage.start("worker"));
  {
    LASTREF_TRY(map, map_npy(stage.os(), file.name, MapMode::read));
    LASTREF_CHECK(parent.send("truncated", map));
    LASTREF_CHECK(parent.send("replaced", map));
  }
  stage.outside().write(file.name, "short");
  stage.tell("it is truncated");
  await_arrival(stage, "truncated");
  stage.outside().unlink(file.name);
  stage.outside().write(file.name, std::string(2 * page_size, 'x'));
  stage.tell("it is replaced");
  await_arrival(stage, "replaced");
  return product.release(file);
}

Status worker(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  Worker worker(stage);
  for (const std::string& how : {std::string("truncated"), std::string("replaced")}) {
    stage.await("it is " + how);
    if (worker.receive(how) && stage.is_undisturbed()) {
      stage.refute("E2: an array arrives with its own bytes, or not at all", "it was " + how);
    }
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The file from which an array was mapped is truncated while the array is in transit, and "
          "later replaced. The receiver gets an error each time and maps neither file.",
      .rows = {"E2", "R3"},
      .roles = {{"root", root}, {"worker", worker}},
      .failing_operations = {"rebuild"},
      .outside_matrix = "its claim depends on when the scenario changes the file",
  };
});

}  // namespace
}  // namespace lastref::harness
