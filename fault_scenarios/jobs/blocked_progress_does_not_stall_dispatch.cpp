#include <atomic>

#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr std::int64_t tasks = 8;

/// The first progress is reported while the caller is in the source. The report waits for the last
/// task, which the caller sends.
Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  ParallelOptions options = two_workers();
  std::atomic<int> reports = 0;
  options.progress = [&](const CallProgress&) {
    if (++reports == 1) {
      stage.tell("progress is reported");
      stage.await("the last task runs");
    }
  };
  Parallel parallel(session_of(stage), functions_of(stage), options);
  std::int64_t next = 0;
  const TaskSource source = [&]() -> std::optional<Task> {
    if (next == 2) {
      stage.await("progress is reported");
    }
    if (next == tasks) {
      return std::nullopt;
    }
    const char* const function = next == tasks - 1 ? "last" : "square";
    return Task{.function = function, .arguments = {next++}};
  };
  const Status run = stage.product().operation(
      "run", [&] { return must_be_squares(stage, parallel.run(source)); });
  if (run && reports != tasks) {
    stage.refute("B10: progress is reported after each batch", std::to_string(reports) + " times");
  }
  return run;
}

Status worker(Stage& stage) {
  const auto functions = functions_of(stage);
  LASTREF_CHECK(functions->add(
      "last", [&](const TaskContext&, std::span<const Value> arguments) -> Result<Value> {
        stage.tell("the last task runs");
        LASTREF_TRY(number, arguments.front().as<std::int64_t>());
        return Value(number * number);
      }));
  may_fail(serve(stage, *functions));
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The progress callback of a call waits for the last task, and blocks the thread that "
          "reports progress. All tasks are still sent.",
      .rows = {"E13", "B10"},
      .roles = {{"root", root}, {"worker_1", worker}, {"worker_2", worker}},
      .outside_matrix = "it tests threads: other job scenarios make the same calls",
  };
});

}  // namespace
}  // namespace lastref::harness
