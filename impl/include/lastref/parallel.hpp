// Parallel: runs many function calls in a backend and returns their results in order.
//
//   lastref::Parallel parallel(session, functions, {.n_jobs = 2});
//   const auto squares = parallel.run({{"square", {1}}, {"square", {2}}});
//
// Pitfalls:
// - The source is called by the caller's thread, and only when a worker is free. It may wait for
//   results of tasks that it returned earlier: `progress` is called by a thread of the call. An
//   exception that either of them throws is the failure of the call. While they wait, a worker's
//   death or an abort ends the running tasks, but the call returns only when both have returned.
// - One object may be called any number of times, whatever the outcome of earlier calls: each call
//   starts from the same configuration and nothing else. Workers are kept between calls. A failed
//   call leaves no workers, and the next call starts new ones.
// - A task may only read the arrays among its arguments, in every backend, unless they are shared
//   memory (Array::is_shared): a store to a worker's copy reaches no other process.
// - A large array travels through a file. The file exists until the array is destroyed and its
//   tasks are done, or until no more tasks will come and its last task is done. It is removed at
//   the end of the call at the latest. A task that keeps the array keeps the file.
// - So a source that refills one buffer for each task needs `invalidate` each time, and a
//   batch_size of 1: all tasks of a batch are requested before any of them is sent.
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

/// Returns the next task, or none at the end. It is not called again after that.
using TaskSource = std::function<std::optional<Task>()>;

enum class BackendKind : std::uint8_t { processes, threads, sequential };

/// Progress of a call.
struct CallProgress {
  std::size_t dispatched = 0;  ///< tasks
  std::size_t completed = 0;   ///< tasks
  std::chrono::nanoseconds elapsed{};
};

struct ParallelOptions {
  std::optional<int> n_jobs = {};  ///< As in BackendOptions.
  BackendKind backend = BackendKind::processes;
  /// Number of tasks that travel together. None: the backend chooses.
  std::optional<std::size_t> batch_size = {};
  /// Number of batches per job that are in flight at a time. None: all.
  std::optional<std::size_t> pre_dispatch = 2;
  ForwardOptions arrays = {};
  TemporaryResourcesOptions temporary = {};
  int verbose = 0;  ///< 1: reports progress occasionally; 10: also batches.
  /// Called after each batch, by one thread.
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
  /// Uses the given backend; `options.backend` is ignored.
  Parallel(Session session, std::shared_ptr<ParallelBackend> backend, ParallelOptions options);
  Parallel(const Parallel&) = delete;
  Parallel& operator=(const Parallel&) = delete;
  /// Ends its workers. No call may be running. In a process that was forked from the one that
  /// created the object, it ends nothing.
  ~Parallel();

  /// Runs all tasks. Results are in the order of the tasks; the first failure aborts the rest.
  ///
  /// Errors          the first TaskFailure of a task; Error: device_or_resource_busy: another call
  ///                 is running; invalid_argument: n_jobs, batch_size or pre_dispatch is 0;
  ///                 operation_canceled: aborted; operation_not_permitted: the object belongs to
  ///                 another process; not_enough_memory; errors of configure, start_call,
  ///                 apply_async, and of the start of a thread for `progress`. Nothing of the call
  ///                 remains, and you can make the next call.
  Outcome<List> run(const TaskSource& source);
  Outcome<List> run(std::vector<Task> tasks);

  /// Reports that the contents of the array have changed. Tasks that are requested from now on
  /// receive the contents as they are when the task is sent. Without this call, a later task of the
  /// same call may receive the old contents if the array is so large that it travels through a file
  /// (ForwardOptions::max_nbytes). Not needed between calls. The source of the call may call it.
  ///
  /// Errors          operation_not_permitted: the object belongs to another process.
  Status invalidate(const Array& array);

  /// Makes the running call, if there is one, end with operation_canceled. A call is running from
  /// the moment that `run` is called. Its workers are ended at once. Does not wait.
  void abort();

 private:
  struct State;

  Outcome<List> run_alone(const TaskSource& source, bool is_source_ours);
  Outcome<List> run_one(const TaskSource& source, bool is_source_ours);
  Outcome<List> run_begun(const TaskSource& source, bool is_source_ours);
  Status make_ready();

  std::unique_ptr<State> state_;
};

}  // namespace lastref
