#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

void must_be_refused(Stage& stage, const std::string& pool, const Outcome<List>& outcome) {
  const Status refused = status_of(outcome);
  if (refused || refused.error().code != std::errc::operation_not_permitted) {
    stage.refute("E8: a forked copy is refused the pool of its parent",
                 pool + ": " + (refused ? "it has results" : describe(refused.error())));
  }
}

/// Checks that the worker exits by itself. Returns an error, because in some orders it may be late.
Status must_have_exited(Stage& stage, const std::string& worker) {
  return stage.await(worker + " has exited")
             ? ok()
             : failure(std::errc::timed_out, worker + " had to be killed at the end of its pool");
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  Jobs jobs(stage);
  ParallelOptions in_the_caller;
  in_the_caller.backend = BackendKind::sequential;
  Jobs alone(stage, in_the_caller);
  const Status run = must_be_squares(stage, jobs.run("run", squares(2)));
  // It has copies of all pipes to the workers, and outlives them.
  stage.fork_stranger([&] {
    must_be_refused(stage, "workers", jobs.run("fail", squares(2)));
    must_be_refused(stage, "no workers", alone.run("fail", squares(2)));
    const Status ended = first_failure({jobs.end(), alone.end()});
    stage.tell("the copy is done");
    stage.await("the pool has ended");
    return ended;
  });
  stage.await("the copy is done");
  const Status again = must_be_squares(stage, jobs.run("run again", squares(2)));
  const Status ended = jobs.end();
  const Status exited =
      first_failure({must_have_exited(stage, "worker_1"), must_have_exited(stage, "worker_2")});
  stage.tell("the pool has ended");
  return first_failure({run, again, ended, exited});
}

Status worker(Stage& stage) {
  const Status served = work(stage);
  stage.tell(stage.role() + " has exited");
  return served;
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A program with workers is forked. The copy is refused the pool, and the parent can "
          "still use it. At the end the workers exit although the copy has their pipes open.",
      .rows = {"E8"},
      .roles = {{"root", root}, {"worker_1", worker}, {"worker_2", worker}},
      .failing_operations = {"fail"},
      .kernel_only = true,
  };
});

}  // namespace
}  // namespace lastref::harness
