// ParallelBackend: where tasks run. In the caller, in threads, or in worker processes.
//
// What a newcomer would get wrong:
// - One job wants no pool: `configure` answers with a backend to fall back to, and so does a
//   process pool in a worker, which is a process of its own already.
// - A callback is called once for each batch, by whoever has finished it, with nothing locked. It
//   may send more, but must not end the backend. While it waits, the pool goes on. What it throws
//   is the batch's outcome.
// - A worker that dies takes the whole pool along: every batch that is on its way fails at once
//   with TerminatedWorker, for nobody can say what the others are worth without it. Configure the
//   backend again to go on.
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

/// The results of a batch, one for each task, or why there are none.
using BatchOutcome = Outcome<List>;
/// It may move the results out: a Future that is ready later has what is left.
using Callback = std::function<void(BatchOutcome&)>;

/// Results to come.
class Future {
 public:
  Future() = default;
  Future(const Future&) = delete;
  Future& operator=(const Future&) = delete;
  virtual ~Future() = default;

  /// Waits. Whatever happens to the pool and its workers, there is an outcome in the end. The
  /// batch's callback has returned then; it may be this thread that calls it.
  virtual const BatchOutcome& get() = 0;
  /// Whether it is known how the batch has ended.
  virtual bool is_ready() const = 0;
};

using FuturePtr = std::shared_ptr<Future>;

/// What was there at once.
///
/// Source          joblib _parallel_backends.py, ImmediateResult.
class ImmediateResult final : public Future {
 public:
  ImmediateResult() = default;
  explicit ImmediateResult(BatchOutcome outcome) : outcome_(std::move(outcome)) {}
  /// Of one that was made before it was known.
  void set(BatchOutcome outcome) { outcome_ = std::move(outcome); }
  const BatchOutcome& get() override { return outcome_; }
  bool is_ready() const override { return true; }

 private:
  BatchOutcome outcome_;
};

/// How a backend is set up. Kept for a restart.
struct BackendOptions {
  std::optional<int> n_jobs = {};  ///< None: 1. Negative: -1 is all processors, -2 all but one.
  ForwardOptions arrays = {};      ///< How they travel to workers.
  TemporaryResourcesOptions temporary = {};
  int verbose = 0;  ///< 10 tells of each new size of batches.
};

class ParallelBackend;

/// Who had something to do in a callback, and could not do it there.
class Deferred : public std::enable_shared_from_this<Deferred> {
 public:
  Deferred() = default;
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;
  virtual ~Deferred() = default;
  /// Called as such a callback is. Somebody else may have done it meanwhile.
  virtual void catch_up() = 0;
};

/// How many jobs run at a time; or who works instead.
struct Configured {
  unsigned n_jobs = 0;
  /// Source          joblib _parallel_backends.py, FallbackToBackend.
  std::shared_ptr<ParallelBackend> fallback = {};
};

/// All methods may be called from any thread. In a process that was forked from the one which made
/// it, nothing of a backend is ended or waited for: whatever can fail is operation_not_permitted.
///
/// Source          joblib _parallel_backends.py, ParallelBackendBase.
class ParallelBackend {
 public:
  ParallelBackend() = default;
  ParallelBackend(const ParallelBackend&) = delete;
  ParallelBackend& operator=(const ParallelBackend&) = delete;
  virtual ~ParallelBackend() = default;

  /// How many of the jobs that were asked for would run at a time.
  ///
  /// Errors          invalid_argument: 0 jobs.
  virtual Result<unsigned> effective_n_jobs(std::optional<int> n_jobs) = 0;

  /// Makes it ready for batches, anew if it was.
  ///
  /// Errors          as effective_n_jobs; of a pool what its start said: nothing is left of it.
  virtual Result<Configured> configure(const BackendOptions& options) = 0;

  /// Hands a batch over. The file of an array that is gone meanwhile goes when the next batch is
  /// sent or done, or with the end of the backend.
  ///
  /// Errors          Error: the batch cannot be sent, or the backend is not configured
  ///                 (operation_not_permitted); TerminatedWorker: a worker has died since it was.
  ///                 Nothing is on its way, and `callback` is not called.
  virtual Outcome<FuturePtr> apply_async(Batch batch, Callback callback) = 0;

  /// The same for a callback that takes no time, waits for nothing and runs nobody else's code:
  /// whoever serves the whole pool may call it.
  virtual Outcome<FuturePtr> apply_brief(Batch batch, Callback callback) {
    return apply_async(std::move(batch), std::move(callback));
  }
  /// Said in such a callback: it is going to take its time, and may wait for nobody else's results
  /// unless it says so with `waits`. False: it must not, for nobody could serve the pool meanwhile;
  /// `who` catches up as soon as somebody is back, unless it is gone or the pool ends.
  virtual bool step_aside(bool waits, Deferred& who) {
    static_cast<void>(waits);
    static_cast<void>(who);
    return true;
  }

  /// What is on its way fails with operation_canceled, as soon as may be. Waits for nobody, and may
  /// be called by anybody, callbacks too. The backend is to be ended then.
  virtual void cancel() {}

  /// Whether it takes batches: it is configured, and no worker has died since.
  virtual bool is_ready() const { return true; }

  /// What is on its way fails with operation_canceled. Returns when nothing of the pool is left,
  /// and the files of arrays that were sent have been let go of.
  ///
  /// Errors          resource_deadlock_would_occur: called from a callback.
  virtual Status terminate() { return ok(); }

  /// How many tasks the next batch should have.
  virtual std::size_t compute_batch_size() { return 1; }
  /// How long a batch took, from its sending to its results.
  virtual void batch_completed(std::size_t size, std::chrono::nanoseconds duration) {
    static_cast<void>(size);
    static_cast<void>(duration);
  }

  /// What a task may throw that is to be told apart; none, for all failures are values.
  virtual std::vector<std::string> get_exceptions() const { return {}; }

  /// Ends what runs. With `ensure_ready` the backend is configured again as it was, and what that
  /// answers is the answer; without, it is ready when it is configured. Whoever comes while another
  /// is at it with the same wish waits, and gets the same answer.
  ///
  /// Errors          as terminate and configure.
  virtual Result<Configured> abort_everything(bool ensure_ready) = 0;

  /// A call of a Parallel begins, or has come to its end: arrays that travel in one belong to it.
  ///
  /// Errors          what TemporaryResources said.
  virtual Status start_call() { return ok(); }
  virtual Status stop_call() { return ok(); }
  /// No task that is still to come takes that array.
  virtual void release_input(const Array::Identity& input) { static_cast<void>(input); }
};

/// In the caller, at once.
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

/// How many jobs a pool runs. None: 1. Negative: max(processors + 1 + n_jobs, 1).
///
/// Errors          invalid_argument: 0.
/// Source          joblib _parallel_backends.py, PoolManagerMixin.effective_n_jobs.
Result<unsigned> pool_n_jobs(os::Os& os, std::optional<int> n_jobs);

/// In threads of this process. What runs when it is ended is waited for.
///
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
  Result<Configured> abort_everything(bool ensure_ready) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// In worker processes, which share large arrays through files. What runs when it is ended is
/// killed.
///
/// Source          joblib _parallel_backends.py, MultiprocessingBackend; what is said of dead
///                 workers is loky's.
class ProcessBackend final : public ParallelBackend {
 public:
  /// Nothing is started, and no file made.
  ProcessBackend(Session session, std::shared_ptr<const Functions> functions);
  ProcessBackend(const ProcessBackend&) = delete;
  ProcessBackend& operator=(const ProcessBackend&) = delete;
  ~ProcessBackend() override;

  /// 1 with a warning, which is given once, in a worker. Any thread gets workers.
  Result<unsigned> effective_n_jobs(std::optional<int> n_jobs) override;
  /// Errors          also operation_not_permitted: this process was started to be a worker and has
  ///                 not looked whether it was (see run_if_spawned).
  Result<Configured> configure(const BackendOptions& options) override;
  Outcome<FuturePtr> apply_async(Batch batch, Callback callback) override;
  Outcome<FuturePtr> apply_brief(Batch batch, Callback callback) override;
  bool step_aside(bool waits, Deferred& who) override;
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
