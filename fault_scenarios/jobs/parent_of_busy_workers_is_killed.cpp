#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const Array array = numbered();
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(stage.start("killer"));
  Jobs jobs(stage);
  return status_of(jobs.run("run", {{"wait", {array}}, {"wait", {array}}}));
}

Status killer(Stage& stage) {
  if (stage.await("a task is waiting")) {
    stage.kill("root");
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The parent is killed while its workers are busy. They exit, and the files that they "
          "mapped are removed.",
      .rows = {"B9", "T5", "T9"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}, {"killer", killer}},
      // One worker may join, or open its array, only after the parent's death.
      .possible_noise = {"the last process of the tree has ended: removing",
                         "an unknown name",
                         "lastref worker: gave up"},
      .failing_operations = {"run"},
  };
});

}  // namespace
}  // namespace lastref::harness
