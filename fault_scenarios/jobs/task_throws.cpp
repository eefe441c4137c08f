#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  ParallelOptions options = two_workers();
  options.n_jobs = stage.value(job_count);
  options.backend = backend_of(stage.value(worker_kind));
  Jobs jobs(stage, options);
  const Outcome<List> thrown = jobs.run("fail", {{"throw"}, {"square", {1}}});
  const auto* exception = thrown ? nullptr : std::get_if<TransportableException>(&thrown.error());
  if (stage.is_undisturbed() && (exception == nullptr || exception->type != "std::runtime_error" ||
                                 exception->message != "thrown by a task")) {
    stage.refute("B7: the exception of a task is returned unchanged",
                 thrown ? "results" : describe(thrown.error()));
  }
  const Outcome<List> interrupted = jobs.run("fail", {{"square", {1}}, {"interrupt"}});
  if (stage.is_undisturbed() &&
      (interrupted || !std::holds_alternative<WorkerInterrupt>(interrupted.error()))) {
    stage.refute("B7: an interrupted task is distinguished from a failed one",
                 interrupted ? "results" : describe(interrupted.error()));
  }
  const Status run = must_be_squares(stage, jobs.run("run again", squares(2)));
  return first_failure({run, jobs.end()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A task throws, and a task of another call is interrupted. Each call fails with what was "
          "thrown, and the next call of the same object succeeds.",
      .rows = {"B7", "B10"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}, {"worker_3", work}},
      .parameters = {job_count, worker_kind},
      .failing_operations = {"fail"},
  };
});

}  // namespace
}  // namespace lastref::harness
