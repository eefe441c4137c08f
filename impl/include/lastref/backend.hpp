// ParallelBackend: where tasks run: in the caller, in threads, or in worker processes.
//
// Pitfalls:
// - One job needs no pool: `configure` returns a fallback backend. A process pool does the same in
//   a worker, which already is a process of its own.
// - A callback is called once per batch, by the thread that finished the batch, with no lock held.
//   It may send more batches, but must not end the backend. While it waits, the pool continues. An
//   exception that it throws is the batch's outcome.
// - The death of one worker ends the whole pool: every batch in flight fails at once with
//   TerminatedWorker, because the results of the other workers may be worthless without its own.
//   Configure the backend again to continue.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lastref/error.hpp>
#include <lastref/os.hpp>
#include <lastref/reducers.hpp>
#include <lastref/task.hpp>
#include <lastref/temporary_resources.hpp>

namespace lastref {

/// The results of a batch, one per task, or the reason why there are none.
using BatchOutcome = Outcome<List>;
/// It may move the results out: the batch's BatchFuture, which is ready later, has what remains.
using Callback = std::function<void(BatchOutcome&)>;

/// Results that are not available yet.
class BatchFuture {
 public:
  BatchFuture() = default;
  BatchFuture(const BatchFuture&) = delete;
  BatchFuture& operator=(const BatchFuture&) = delete;
  virtual ~BatchFuture() = default;

  /// Waits for the outcome. There is one eventually, whatever happens to the pool and its workers.
  /// The batch's callback has returned by then; this thread may be the one that calls it.
  virtual const BatchOutcome& get() = 0;
  /// Whether the outcome of the batch is known.
  virtual bool is_ready() const = 0;
};

using FuturePtr = std::shared_ptr<BatchFuture>;

/// A BatchFuture that needs no waiting.
///
/// Source          joblib _parallel_backends.py, ImmediateResult.
class ImmediateResult final : public BatchFuture {
 public:
  ImmediateResult() = default;
  explicit ImmediateResult(BatchOutcome outcome) : outcome_(std::move(outcome)) {}
  /// Sets the outcome of a result that was created before it was known.
  void set(BatchOutcome outcome) { outcome_ = std::move(outcome); }
  const BatchOutcome& get() override { return outcome_; }
  bool is_ready() const override { return true; }

 private:
  BatchOutcome outcome_;
};

/// Configuration of a backend. Kept for a restart.
struct BackendOptions {
  std::optional<int> n_jobs = {};  ///< Absent: 1. Negative: -1 is all processors, -2 all but one.
  ForwardOptions arrays = {};      ///< How arrays travel to workers.
  TemporaryResourcesOptions temporary = {};
  int verbose = 0;  ///< 10: reports each new batch size.
};

class ParallelBackend;

/// How many jobs run at a time, or the backend that is used instead.
struct Configured {
  unsigned n_jobs = 0;
  /// Source          joblib _parallel_backends.py, FallbackToBackend.
  std::shared_ptr<ParallelBackend> fallback = {};
};

/// All methods may be called from any thread. In a process that was forked from the one that
/// created the backend, nothing of the backend is ended or waited for: every method that can fail
/// fails with operation_not_permitted.
///
/// Source          joblib _parallel_backends.py, ParallelBackendBase.
class ParallelBackend {
 public:
  ParallelBackend() = default;
  ParallelBackend(const ParallelBackend&) = delete;
  ParallelBackend& operator=(const ParallelBackend&) = delete;
  virtual ~ParallelBackend() = default;

  /// Returns how many of the requested jobs would run at a time.
  ///
  /// Errors          invalid_argument: 0 jobs.
  virtual Result<unsigned> effective_n_jobs(std::optional<int> n_jobs) = 0;

  /// Makes the backend ready for batches; if it was ready, sets it up again.
  ///
  /// Errors          as effective_n_jobs; for a pool also errors of its start: nothing of it
  ///                 remains.
  virtual Result<Configured> configure(const BackendOptions& options) = 0;

  /// Submits a batch. If an array is destroyed meanwhile, its file is removed when the next batch
  /// is sent or done, or at the end of the backend.
  ///
  /// Errors          Error: the batch cannot be sent, or the backend is not configured
  ///                 (operation_not_permitted); TerminatedWorker: a worker has died since it was
  ///                 configured. Nothing is in flight, and `callback` is not called.
  virtual Outcome<FuturePtr> apply_async(Batch batch, Callback callback) = 0;

  /// As apply_async, for a callback that returns at once, does not wait and runs no user code: the
  /// thread that serves the whole pool may call it.
  virtual Outcome<FuturePtr> apply_inline(Batch batch, Callback callback) {
    return apply_async(std::move(batch), std::move(callback));
  }
  /// Whether it does. If not, such a callback may do what one of apply_async may do.
  virtual bool calls_back_inline() const { return false; }

  /// Makes all batches in flight fail with operation_canceled as soon as possible. Does not wait,
  /// and may be called from anywhere, including callbacks. Afterwards the backend has to be ended.
  virtual void cancel() {}

  /// Whether it accepts batches: it is configured, and no worker has died since.
  virtual bool is_ready() const { return true; }

  /// Makes all batches in flight fail with operation_canceled. Returns when nothing of the pool
  /// remains, and the references to the files of sent arrays are released.
  ///
  /// Errors          resource_deadlock_would_occur: called from a callback.
  virtual Status terminate() { return ok(); }

  /// Returns how many tasks the next batch should have.
  virtual std::size_t compute_batch_size() { return 1; }
  /// Reports how long a batch took, from sending it to receiving its results.
  virtual void batch_completed(std::size_t size, std::chrono::nanoseconds duration) {
    static_cast<void>(size);
    static_cast<void>(duration);
  }

  /// Ends all running tasks. With `ensure_ready` the backend is configured again as before, and the
  /// result of that is returned. Without it, the backend has to be configured before it is ready.
  /// Concurrent calls with the same argument share one restart and its result.
  ///
  /// Errors          as terminate and configure.
  virtual Result<Configured> abort_everything(bool ensure_ready) = 0;

  /// A call of a Parallel begins or has ended. Arrays that are sent between the two belong to it.
  ///
  /// Errors          those of TemporaryResources.
  virtual Status start_call() { return ok(); }
  virtual Status stop_call() { return ok(); }
  /// Reports that no later task takes that array.
  virtual void release_input(const Array::Identity& input) { static_cast<void>(input); }
};

/// Runs tasks in the caller, at once.
///
/// Source          joblib _parallel_backends.py, SequentialBackend.
class SequentialBackend final : public ParallelBackend {
 public:
  SequentialBackend(Session session, std::shared_ptr<const Functions> functions);

  Result<unsigned> effective_n_jobs(std::optional<int> n_jobs) override;
  Result<Configured> configure(const BackendOptions& options) override;
  Outcome<FuturePtr> apply_async(Batch batch, Callback callback) override;
  Result<Configured> abort_everything(bool ensure_ready) override;

 private:
  Session session_;
  std::shared_ptr<const Functions> functions_;
};

/// Returns how many jobs a pool runs. Absent: 1. Negative: max(processors + 1 + n_jobs, 1).
///
/// Errors          invalid_argument: 0.
/// Source          joblib _parallel_backends.py, PoolManagerMixin.effective_n_jobs.
Result<unsigned> pool_n_jobs(os::Os& os, std::optional<int> n_jobs);

/// Runs tasks in threads of this process. Ending it waits for the running tasks.
///
/// Differs         joblib sends threads one task at a time; here small tasks travel in batches.
/// Source          joblib _parallel_backends.py, ThreadingBackend.
class ThreadingBackend final : public ParallelBackend {
 public:
  ThreadingBackend(Session session, std::shared_ptr<const Functions> functions);
  ThreadingBackend(const ThreadingBackend&) = delete;
  ThreadingBackend& operator=(const ThreadingBackend&) = delete;
  ~ThreadingBackend() override;

  Result<unsigned> effective_n_jobs(std::optional<int> n_jobs) override;
  Result<Configured> configure(const BackendOptions& options) override;
  Outcome<FuturePtr> apply_async(Batch batch, Callback callback) override;
  bool is_ready() const override;
  Status terminate() override;
  std::size_t compute_batch_size() override;
  void batch_completed(std::size_t size, std::chrono::nanoseconds duration) override;
  Result<Configured> abort_everything(bool ensure_ready) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Runs tasks in worker processes, which share large arrays through files. Ending it kills the
/// running tasks.
///
/// Source          joblib _parallel_backends.py, MultiprocessingBackend; the behaviour for dead
///                 workers is loky's.
class ProcessBackend final : public ParallelBackend {
 public:
  /// Starts no process and creates no file.
  ProcessBackend(Session session, std::shared_ptr<const Functions> functions);
  ProcessBackend(const ProcessBackend&) = delete;
  ProcessBackend& operator=(const ProcessBackend&) = delete;
  ~ProcessBackend() override;

  /// In a worker: 1, with a warning that is written once. Otherwise a call from any thread gets
  /// workers.
  Result<unsigned> effective_n_jobs(std::optional<int> n_jobs) override;
  /// Errors          also operation_not_permitted: this process was started as a worker but did not
  ///                 check for that (see run_if_spawned).
  Result<Configured> configure(const BackendOptions& options) override;
  Outcome<FuturePtr> apply_async(Batch batch, Callback callback) override;
  Outcome<FuturePtr> apply_inline(Batch batch, Callback callback) override;
  bool calls_back_inline() const override { return true; }
  void cancel() override;
  bool is_ready() const override;
  Status terminate() override;
  std::size_t compute_batch_size() override;
  void batch_completed(std::size_t size, std::chrono::nanoseconds duration) override;
  Result<Configured> abort_everything(bool ensure_ready) override;
  Status start_call() override;
  Status stop_call() override;
  void release_input(const Array::Identity& input) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lastref
