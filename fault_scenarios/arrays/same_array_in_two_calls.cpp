#include <string_view>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// The cleanup of its context removes a file. If the keep-alive reference were taken only once for
/// each name, the file of the second call would have none.
Status root(Stage& stage) {
  Product& product = stage.product();
  const Array array = numbered(1, stage.value(large_element_count));
  LASTREF_CHECK(product.lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(stage.start("worker"));
  LASTREF_CHECK(parent.send("first", array));
  await_arrival(stage, "first");
  LASTREF_CHECK(parent.arrived("first"));
  LASTREF_CHECK(parent.clean_up());
  LASTREF_CHECK(parent.begin("call"));
  LASTREF_CHECK(parent.send("second", array));
  const Resource file{.type = ResourceType::file, .name = parent.last_file()};
  await_arrival(stage, "second");
  LASTREF_CHECK(parent.arrived("second"));
  stage.await("released");
  LASTREF_CHECK(product.client().probe());
  product.must_exist(file);  // The next task of this call would be sent the same file.
  const Status sent = parent.send("third", array);
  await_arrival(stage, "third");
  return first_failure({sent, parent.arrived("third"), parent.clean_up()});
}

Status worker(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  Worker worker(stage);
  for (const char* signal : {"first", "second", "third"}) {
    LASTREF_TRY(array, worker.receive(signal));
    must_equal(stage, array, numbered(1, stage.value(large_element_count)));
    if (std::string_view(signal) == "second") {
      stage.tell("released");
    }
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A parent sends one array in two calls. Each call has a file of its own, which remains "
          "until the call is cleaned up, whatever the workers release.",
      .rows = {"R4", "M2", "M4"},
      .roles = {{"root", root}, {"worker", worker}},
      .parameters = {large_element_count},
  };
});

}  // namespace
}  // namespace lastref::harness
