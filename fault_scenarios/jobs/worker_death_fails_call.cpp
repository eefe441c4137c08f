#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const Array array = numbered(1, stage.value(element_count));
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(stage.start("killer"));
  Jobs jobs(stage);
  must_name_the_dead(stage, jobs.run("fail", {{"wait", {array}}, {"wait", {array}}}));
  const Status run = must_be_squares(stage, jobs.run("run again", squares(2)));
  return first_failure({run, jobs.end()});
}

Status killer(Stage& stage) {
  if (stage.await("a task is waiting")) {
    stage.kill("worker_1");
    stage.kill("worker_2");
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Two workers are killed while they run tasks. The call fails at once and names the dead "
          "worker. Their references are released, and the next call has new workers.",
      .rows = {"B9", "B10", "T9"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}, {"killer", killer}},
      .parameters = {element_count},
      .failing_operations = {"fail"},
  };
});

}  // namespace
}  // namespace lastref::harness
