// jobs: shared parts of scenarios about worker pools: a root with tasks that run in two workers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <lastref/parallel.hpp>

#include "harness/platform/named_enum.hpp"
#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

/// The session of the process of a Stage, recorded as its operations. The process leads or has
/// joined a tree.
Session session_of(Stage& stage);

/// "sum" of an array, "square" of a number, "throw", "throw number" (its argument is the message),
/// "interrupt" (throws Interrupt), "keep" of an array until the process ends, "wait" (gives "a task
/// is waiting", and waits until it is killed), "echo" of anything.
std::shared_ptr<Functions> functions_of(Stage& stage);

/// A role: a worker with these functions.
Status work(Stage& stage);

/// The same with other functions.
Status serve(Stage& stage, const Functions& functions);

/// The number of workers; -1: all processors, and a run has two. A scenario with this parameter has
/// a role worker_3.
inline constexpr Parameter<int> job_count = {
    .name = "n_jobs", .usual = -1, .values = {-1, 1, 3}, .unit = "workers"};
/// The same where workers are needed.
inline constexpr Parameter<int> pool_size = {
    .name = "n_jobs", .usual = 2, .values = {2, 3}, .unit = "workers"};
/// Tasks per message.
inline constexpr Parameter<std::size_t> tasks_per_batch = {
    .name = "batch_size", .usual = 1, .values = {1, 2, 7}, .unit = "tasks"};

LASTREF_NAMED_ENUM(WorkerKind, (process, "process"), (thread, "thread"));

inline constexpr Parameter<WorkerKind> worker_kind = {.name = "worker",
                                                      .usual = WorkerKind::process};

constexpr BackendKind backend_of(WorkerKind kind) noexcept {
  return kind == WorkerKind::thread ? BackendKind::threads : BackendKind::processes;
}

/// Two workers, one task per message, arrays beyond a thousand bytes through files.
ParallelOptions two_workers();

/// Runs the tasks of a root; each call is an operation.
class Jobs {
 public:
  explicit Jobs(Stage& stage, const ParallelOptions& options = two_workers());

  /// Runs the tasks, and returns their outcome.
  Outcome<List> run(const std::string& operation, std::vector<Task> tasks);
  /// Ends the workers.
  [[nodiscard]] Status end();

 private:
  Stage& stage_;
  std::unique_ptr<Parallel> parallel_;
};

/// `count` tasks, each the sum of one of the arrays in turn.
std::vector<Task> sums_of(const std::vector<Array>& arrays, std::size_t count);

/// Squares of 0, 1, 2, ...
std::vector<Task> squares(std::size_t count);

/// Sends batches to a configured backend, waits for them, and ends it. Checks that each accepted
/// batch called back once, and that no rejected one did. Returns the failure of the last batch that
/// failed, or of the end.
Status must_call_back_once(Stage& stage, ParallelBackend& backend);

/// Checks the results, if there are any. Returns the Status of the call.
Status must_be_sums(Stage& stage, const Outcome<List>& outcome, const std::vector<Array>& arrays);
Status must_be_squares(Stage& stage, const Outcome<List>& outcome);

/// Checks, in an undisturbed run, that a call failed because a worker was killed by SIGKILL.
void must_name_the_dead(Stage& stage, const Outcome<List>& outcome);

/// An Outcome as a Status: a failure that is not an Error becomes one.
Status status_of(const Outcome<List>& outcome);

}  // namespace lastref::harness
