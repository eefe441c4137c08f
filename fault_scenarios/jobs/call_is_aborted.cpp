#include <functional>
#include <string>
#include <utility>

#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

void must_be_canceled(Stage& stage, const Outcome<List>& outcome, const std::string& claim) {
  const auto* error = outcome ? nullptr : std::get_if<Error>(&outcome.error());
  if (stage.is_undisturbed() &&
      (error == nullptr || error->code != std::errc::operation_canceled)) {
    stage.refute(claim, outcome ? "results" : describe(outcome.error()));
  }
}

std::size_t workers_of(Stage& stage) {
  return stage.processes("worker_1") + stage.processes("worker_2");
}

/// Gives two tasks that wait, and is called for the next one while the call is aborted.
TaskSource source_that_waits(Stage& stage) {
  return [&stage, given = 0]() mutable -> std::optional<Task> {
    if (given++ < 2) {
      return Task{.function = "wait", .arguments = {}};
    }
    stage.await("it is aborted");
    stage.wait_for_quiet();
    if (const std::size_t left = workers_of(stage); stage.is_undisturbed() && left > 0) {
      stage.refute("E13: an abort ends the workers although a source waits",
                   std::to_string(left) + " workers still run");
    }
    return std::nullopt;
  };
}

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  Session session = session_of(stage);
  // Called when the workers are started: the call is not ready yet.
  std::function<void()> when_it_starts;
  session.tree = [&, tree = session.tree] {
    if (const auto once = std::exchange(when_it_starts, nullptr)) {
      once();
    }
    return tree();
  };
  Parallel parallel(session, functions_of(stage), two_workers());
  const auto run_and_fail = [&](const TaskSource& source) {
    Outcome<List> outcome;
    may_fail(product.operation("run what is aborted", [&] {
      outcome = parallel.run(source);
      return status_of(outcome);
    }));
    return outcome;
  };
  when_it_starts = [&] { parallel.abort(); };
  must_be_canceled(stage,
                   run_and_fail([] { return std::optional<Task>(); }),
                   "E13: an abort takes effect from the start of run");
  const auto thread = stage.os().start_thread([&] {
    stage.await("a task is waiting");
    parallel.abort();
    stage.tell("it is aborted");
  });
  LASTREF_CHECK(status_of(thread));
  const Outcome<List> outcome = run_and_fail(source_that_waits(stage));
  stage.tell("a task is waiting");  // In case no task was started.
  (*thread)->join();
  must_be_canceled(stage, outcome, "B8: an aborted call fails with operation_canceled");
  // A pool that has had workers uses workers again, in any thread.
  Status again;
  const auto other = stage.os().start_thread([&] {
    again = product.operation("run again",
                              [&] { return must_be_squares(stage, parallel.run(squares(2))); });
  });
  if (other) {
    (*other)->join();
  }
  if (stage.is_undisturbed() && workers_of(stage) == 0) {
    stage.refute("B5: a pool that has had workers never runs tasks in its caller", "no workers");
  }
  return first_failure({status_of(other), again});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A call is aborted before it is ready, and another while its tasks run and its source "
          "waits. Each fails at once, and its workers end. The next call starts new workers, from "
          "any thread.",
      .rows = {"B8", "B10", "B5", "E13"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
      .failing_operations = {"run what is aborted"},
      .outside_matrix = "it tests threads: other job scenarios make the same calls",
  };
});

}  // namespace
}  // namespace lastref::harness
