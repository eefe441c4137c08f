#include <string_view>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// The clean-up of its context ends the life of a file. Bug 1 took the keep-alive reference only
/// once for each name ever seen, so the second call's file had none.
Status root(Stage& stage) {
  Product& product = stage.product();
  const Array array = numbered();
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
  stage.await("let go");
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
    must_equal(stage, array, numbered());
    if (std::string_view(signal) == "second") {
      stage.tell("let go");
    }
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "An array is sent in two calls of one parent: each call has a file of its own life, "
          "which "
          "stays until the call is cleaned up, whatever the workers let go of.",
      .rows = {"R4", "M2", "M4"},
      .roles = {{"root", root}, {"worker", worker}},
  };
});

}  // namespace
}  // namespace lastref::harness
