#include <lastref/joblib.hpp>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Array array = numbered();
  LASTREF_CHECK(product.lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(stage.start("worker"));
  LASTREF_CHECK(parent.send("array", array));
  // The worker has not opened it yet: only the reference in transit keeps the file.
  const Status cleaned_up = parent.clean_up();
  const Status again = parent.clean_up();
  const Status unlinked = product.operation("unlink", [&] {
    return joblib::TemporaryResourcesManager(parent.resources()).unlink_temporary_resources("call");
  });
  LASTREF_CHECK(product.client().probe());
  stage.tell("cleaned up");
  await_arrival(stage, "array");
  return first_failure({cleaned_up, again, unlinked, parent.arrived("array")});
}

Status worker(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  stage.await("cleaned up");
  Worker worker(stage);
  LASTREF_TRY(array, worker.receive("array"));
  must_equal(stage, array, numbered());
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A parent cleans up three times while its array is in transit. It releases its own "
          "reference once, and the worker finds the file.",
      .rows = {"M4", "M5", "T9"},
      .roles = {{"root", root}, {"worker", worker}},
  };
});

}  // namespace
}  // namespace lastref::harness
