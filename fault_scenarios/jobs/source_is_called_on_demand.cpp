#include <atomic>

#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t tasks = 16;
constexpr Parameter<std::size_t> pre_dispatch = {
    .name = "pre_dispatch", .usual = 2, .values = {1, 2, 3}, .unit = "batches per worker"};

/// None of their tasks has a result before the root permits it.
std::shared_ptr<Functions> functions_that_wait(Stage& stage) {
  auto functions = functions_of(stage);
  const Status added = functions->add(
      "square when permitted",
      [&stage](const TaskContext&, std::span<const Value> arguments) -> Result<Value> {
        stage.await("results may come");
        LASTREF_TRY(number, arguments.front().as<std::int64_t>());
        return Value(number * number);
      });
  LASTREF_ASSERT(added.has_value());
  return functions;
}

Status work_when_permitted(Stage& stage) {
  return serve(stage, *functions_that_wait(stage));
}

std::vector<Task> late_squares() {
  std::vector<Task> all = squares(tasks);
  for (Task& task : all) {
    task.function = "square when permitted";
  }
  return all;
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  const std::size_t called_at_first =
      stage.value(pre_dispatch) * static_cast<std::size_t>(stage.value(pool_size));
  std::size_t called = 0;
  std::atomic<bool> may_have_results = false;
  ParallelOptions options = two_workers();
  options.n_jobs = stage.value(pool_size);
  options.pre_dispatch = stage.value(pre_dispatch);
  auto parallel =
      std::make_unique<Parallel>(session_of(stage), functions_that_wait(stage), options);
  const auto permits = stage.os().start_thread([&] {
    stage.await("all workers have tasks");
    may_have_results = true;
    stage.tell("results may come");
  });
  LASTREF_CHECK(status_of(permits));
  Outcome<List> outcome;
  const Status run = stage.product().operation("run", [&] {
    outcome = parallel->run([&, all = late_squares()]() -> std::optional<Task> {
      if (called == called_at_first && !may_have_results && stage.is_undisturbed()) {
        stage.refute("B10: a source is called only when a worker needs a task",
                     "it is called again, and no task has a result");
      }
      if (called + 1 == called_at_first) {
        stage.tell("all workers have tasks");
      }
      return called < all.size() ? std::optional(all[called++]) : std::nullopt;
    });
    return status_of(outcome);
  });
  stage.tell("all workers have tasks");  // In case the call has failed before.
  (*permits)->join();
  const Status squared = must_be_squares(stage, outcome);
  const Status ended = stage.product().operation("end", [&] {
    parallel.reset();
    return ok();
  });
  return first_failure({run, squared, ended});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence = "While no task has a result, a source is called for its first few tasks only.",
      .rows = {"B10"},
      .roles = {{"root", root},
                {"worker_1", work_when_permitted},
                {"worker_2", work_when_permitted},
                {"worker_3", work_when_permitted}},
      .parameters = {pool_size, pre_dispatch},
  };
});

}  // namespace
}  // namespace lastref::harness
