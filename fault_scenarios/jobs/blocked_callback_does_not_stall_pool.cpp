#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Squares that show that both workers are fast.
constexpr std::size_t quick = 4;
/// Tasks after a long one; one of them may be given to its worker.
constexpr int later_tasks = 7;

constexpr const char* served = "E13: while a callback waits, others are served";

Status result_of(const Outcome<FuturePtr>& sent) {
  return sent ? status_of((*sent)->get()) : status_of(Outcome<List>(tl::unexpected(sent.error())));
}

/// A root, and its steps.
class Root {
 public:
  explicit Root(Stage& stage) : stage_(stage), backend_(session_of(stage), functions_of(stage)) {}

  Status run() {
    Product& product = stage_.product();
    LASTREF_CHECK(product.lead());
    LASTREF_CHECK(product.operation("configure",
                                    [&] { return status_of(backend_.configure({.n_jobs = 2})); }));
    const Status waited = product.operation("wait for results", [&] { return wait_for_results(); });
    const Status run =
        product.operation("run after a long task", [&] { return run_after_long_task(); });
    const Status ended = product.operation("terminate", [&] { return backend_.terminate(); });
    return first_failure({waited, run, ended});
  }

 private:
  void must(bool holds, const std::string& claim, const std::string& seen) {
    if (!holds && stage_.is_undisturbed()) {
      stage_.refute(claim, seen);
    }
  }

  /// The callback of one batch waits for the results of another.
  Status wait_for_results() {
    FuturePtr other;
    const auto first = backend_.apply_async({{"after", {"both are sent"}}}, [&](BatchOutcome&) {
      stage_.await("both are sent");
      stage_.tell("a callback waits");
      stage_.wait_for_quiet();
      must(other && other->is_ready(), served, "another batch has no results");
    });
    const auto second =
        backend_.apply_async({{"after", {"a callback waits"}}}, [](BatchOutcome&) {});
    if (second) {
      other = *second;
    }
    stage_.tell("both are sent");
    stage_.await("a callback waits");  // A thread that asks for results first runs the callback
                                       // itself.
    return first_failure({result_of(first), result_of(second)});
  }

  /// A task waits until those after it are done, except one that its worker has already.
  Status run_after_long_task() {
    std::vector<Outcome<FuturePtr>> sent;
    for (std::size_t at = 0; at < quick; ++at) {
      may_fail(result_of(backend_.apply_async(squares(1), nullptr)));
    }
    sent.push_back(backend_.apply_async({{"long"}}, nullptr));
    stage_.await("a long task runs");
    std::atomic<int> done = 0;
    for (int at = 0; at < later_tasks; ++at) {
      sent.push_back(backend_.apply_async(squares(1), [&](BatchOutcome&) {
        if (++done == later_tasks - 1) {
          stage_.tell("the later tasks are done");
        }
      }));
    }
    Status last;
    for (const Outcome<FuturePtr>& each : sent) {
      last = first_failure({last, result_of(each)});
    }
    return last;
  }

  Stage& stage_;
  ProcessBackend backend_;
};

Status root(Stage& stage) {
  return Root(stage).run();
}

Status worker(Stage& stage) {
  const auto functions = functions_of(stage);
  LASTREF_CHECK(functions->add(
      "after", [&](const TaskContext&, std::span<const Value> arguments) -> Result<Value> {
        LASTREF_TRY(signal, arguments.front().as<std::string>());
        stage.await(signal);
        return Value();
      }));
  LASTREF_CHECK(
      functions->add("long", [&](const TaskContext&, std::span<const Value>) -> Result<Value> {
        stage.tell("a long task runs");
        if (!stage.await("the later tasks are done") && stage.is_undisturbed()) {
          stage.refute("B5: the other worker runs the tasks after a long one", "they wait for it");
        }
        return Value();
      }));
  return serve(stage, *functions);
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A callback waits for another batch, and a task waits for tasks sent after it. All work "
          "that can continue does.",
      .rows = {"E13", "B5"},
      .roles = {{"root", root}, {"worker_1", worker}, {"worker_2", worker}},
      .outside_matrix = "it tests threads: other job scenarios make the same calls",
  };
});

}  // namespace
}  // namespace lastref::harness
