// Parallel: many calls of functions, in whatever backend, and their results in order.
//
//   lastref::Parallel parallel(session, functions, {.n_jobs = 2});
//   const auto squares = parallel.run({{"square", {1}}, {"square", {2}}});
//
// What a newcomer would get wrong:
// - Tasks are asked for as there is somebody to run them, by one thread at a time, which need not
//   be the caller's. A source may wait for results of tasks that it has given before. What it and
//   `progress` throw is the failure of the call; while they wait, deaths and aborts end what runs,
//   but the call returns only when they have.
// - One object may be called any number of times, whatever became of the calls before: each begins
//   with the same configuration and nothing else. Its workers stay between calls; a call that has
//   failed leaves none, and the next one starts new ones.
// - Arrays among the arguments of a task may only be read, in every backend, unless they are shared
//   memory (Array::is_shared): what a worker stores in a copy reaches no other process.
// - A large array travels through a file, which is there until the array is gone and its tasks are
//   done, or no task is to come and its last one is done; at the latest until the end of the call.
//   A task that has kept the array keeps the file.
// - So a buffer that a source fills again for each task needs `invalidate` each time, and a
//   batch_size of 1: tasks of one batch are asked for before any of them is sent.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include <lastref/backend.hpp>
#include <lastref/error.hpp>
#include <lastref/task.hpp>

namespace lastref {

/// The next task; none at the end. It is not called again after that.
using TaskSource = std::function<std::optional<Task>()>;

enum class BackendKind : std::uint8_t { processes, threads, sequential };

/// How far a call is.
struct CallProgress {
  std::size_t dispatched = 0;  ///< tasks
  std::size_t completed = 0;   ///< tasks
  std::chrono::nanoseconds elapsed{};
};

struct ParallelOptions {
  std::optional<int> n_jobs = {};  ///< As in BackendOptions.
  BackendKind backend = BackendKind::processes;
  /// Tasks that travel together; none: as many as the backend finds best.
  std::optional<std::size_t> batch_size = {};
  /// Batches for each job that are on their way at a time. None: all there are.
  std::optional<std::size_t> pre_dispatch = 2;
  ForwardOptions arrays = {};
  TemporaryResourcesOptions temporary = {};
  int verbose = 0;  ///< 1 tells how far it is now and then, 10 also of batches.
  /// Called after each batch, by one thread at a time.
  std::function<void(const CallProgress&)> progress = {};
};

/// run, abort and invalidate may be called from any thread.
///
/// Source          joblib parallel.py, Parallel.
class Parallel {
 public:
  Parallel(const Session& session,
           std::shared_ptr<const Functions> functions,
           const ParallelOptions& options);
  /// With a backend of somebody else's; `options.backend` is nothing then.
  Parallel(Session session, std::shared_ptr<ParallelBackend> backend, ParallelOptions options);
  Parallel(const Parallel&) = delete;
  Parallel& operator=(const Parallel&) = delete;
  /// Ends its workers. No call may be on its way. In a process that was forked from the one which
  /// made it, it ends nothing.
  ~Parallel();

  /// Runs all tasks. Results are in the order of the tasks; the first failure aborts the rest.
  ///
  /// Errors          the first Failure of a task; Error: device_or_resource_busy: a call is on its
  ///                 way; invalid_argument: n_jobs, batch_size or pre_dispatch is 0;
  ///                 operation_canceled: aborted; operation_not_permitted: it belongs to another
  ///                 process; not_enough_memory; what configure, start_call and apply_async said.
  ///                 Nothing of the call is left, and the next one may be made.
  Outcome<List> run(const TaskSource& source);
  Outcome<List> run(std::vector<Task> tasks);

  /// The contents of the array have changed: tasks that are asked for from now on get it as it is
  /// when they are sent. Without that, a task of the same call may get it as it was sent before, if
  /// it is so large that it travels through a file (ForwardOptions::max_nbytes). Between calls
  /// nothing has to be said. May be called by the source of the call.
  ///
  /// Errors          operation_not_permitted: it belongs to another process.
  Status invalidate(const Array& array);

  /// Makes the call that is on its way, if there is one, end with operation_canceled: it is from
  /// the moment that run was called. Its workers are ended at once. Waits for nobody.
  void abort();

 private:
  struct State;

  Outcome<List> run_one(const TaskSource& source);
  Outcome<List> run_begun(const TaskSource& source);
  Status make_ready();

  std::unique_ptr<State> state_;
};

}  // namespace lastref
