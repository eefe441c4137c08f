#include <atomic>

#include "fault_scenarios/jobs/jobs.hpp"
#include "fault_scenarios/support/jobs.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t tasks = 16;
/// Two, for each of two workers has one on its way; and some that take their places before the
/// first result is told, in whatever order.
constexpr std::size_t asked_at_first = 8;

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  std::atomic<std::size_t> asked = 0;  // What is told of progress, another thread may tell.
  std::size_t asked_at_the_first_result = 0;
  ParallelOptions options = two_workers();
  options.pre_dispatch = 1;
  options.progress = [&](const CallProgress& progress) {
    if (progress.completed == 1) {
      asked_at_the_first_result = asked;
    }
  };
  auto parallel = std::make_unique<Parallel>(session_of(stage), functions_of(stage), options);
  Outcome<List> outcome;
  const Status run = stage.product().operation("run", [&] {
    outcome = parallel->run([&, all = squares(tasks)]() -> std::optional<Task> {
      return asked < all.size() ? std::optional(all[asked++]) : std::nullopt;
    });
    return status_of(outcome);
  });
  if (stage.is_undisturbed() && asked_at_the_first_result > asked_at_first) {
    stage.refute("B10: a task is asked for when there is somebody to run it",
                 std::to_string(asked_at_the_first_result) + " before the first had a result");
  }
  const Status squared = must_be_squares(stage, outcome);
  const Status ended = stage.product().operation("end", [&] {
    parallel.reset();
    return ok();
  });
  return first_failure({run, squared, ended});
}

}  // namespace

Scenario tasks_are_asked_for_as_they_are_run() {
  return {
      .name = "jobs/tasks_are_asked_for_as_they_are_run",
      .sentence = "A source of tasks is asked for no more than its workers have space for.",
      .rows = {"B10"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
  };
}

}  // namespace lastref::harness
