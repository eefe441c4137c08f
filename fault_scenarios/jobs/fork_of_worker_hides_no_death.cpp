#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status worker(Stage& stage) {
  const auto functions = functions_of(stage);
  const Status added =
      functions->add("fork", [&](const TaskContext&, std::span<const Value>) -> Result<Value> {
        // It has copies of the worker's pipes, and outlives it.
        stage.fork_stranger([&] {
          stage.tell("the fork runs");
          stage.await("the call has failed");
          return ok();
        });
        stage.stay_until_killed();
        return Value();
      });
  LASTREF_ASSERT(added.has_value());
  return serve(stage, *functions);
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(stage.start("killer"));
  Jobs jobs(stage);
  must_name_the_dead(stage, jobs.run("fail", {{"fork"}}));
  stage.tell("the call has failed");
  const Status run = must_be_squares(stage, jobs.run("run again", squares(2)));
  return first_failure({run, jobs.end()});
}

Status killer(Stage& stage) {
  if (stage.await("the fork runs")) {
    stage.kill("worker_1");
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A task forks, and its worker is killed. The call fails although the fork has the "
          "worker's pipes open.",
      .rows = {"B9"},
      .roles = {{"root", root}, {"worker_1", worker}, {"worker_2", worker}, {"killer", killer}},
      .failing_operations = {"fail"},
      .kernel_only = true,
  };
});

}  // namespace
}  // namespace lastref::harness
