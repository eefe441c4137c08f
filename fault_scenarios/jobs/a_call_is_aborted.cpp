#include "fault_scenarios/jobs/jobs.hpp"
#include "fault_scenarios/support/jobs.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  Parallel parallel(session_of(stage), functions_of(stage), two_workers());
  const auto thread = stage.os().start_thread([&] {
    stage.await("a task is waiting");
    parallel.abort();
  });
  LASTREF_CHECK(status_of(thread));
  Outcome<List> outcome;
  may_fail(product.operation("run what is aborted", [&] {
    outcome = parallel.run({{"wait"}, {"wait"}});
    return status_of(outcome);
  }));
  stage.tell("a task is waiting");  // If none has come so far.
  (*thread)->join();
  const auto* error = outcome ? nullptr : std::get_if<Error>(&outcome.error());
  if (stage.is_undisturbed() &&
      (error == nullptr || error->code != std::errc::operation_canceled)) {
    stage.refute("B8: a call that is aborted says so",
                 outcome ? "results" : describe(outcome.error()));
  }
  return product.operation("run again",
                           [&] { return must_be_squares(stage, parallel.run(squares(2))); });
}

}  // namespace

Scenario a_call_is_aborted() {
  return {
      .name = "jobs/a_call_is_aborted",
      .sentence =
          "Another thread aborts a call while its tasks run: the call ends with that at once, its "
          "workers are ended, and the next call has new ones.",
      .rows = {"B8", "B10"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
      .failing_operations = {"run what is aborted"},
      .outside_matrix = "it is about threads: its calls are those of other scenarios of workers",
  };
}

}  // namespace lastref::harness
