// call: one call of a Parallel.
//
// The thread that calls back takes the results, which takes no time. Then the source is to be
// called, and progress reported: each by one thread at a time, which does it for all others, so
// that no thread waits for a source or a progress callback that waits. It is the thread that has
// called back, if its backend can do without it, otherwise the caller if it waits, otherwise the
// thread that calls `resume`. Your code is never called with anything locked.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <lastref/owners.hpp>
#include <lastref/parallel.hpp>

namespace lastref::backends {

/// Callbacks after its end are ignored.
class Call final : public PendingWork {
 public:
  struct Parts {
    os::Os& os;
    std::shared_ptr<ParallelBackend> backend;
    const ParallelOptions& options;
    unsigned n_jobs = 1;
    const TaskSource& source;
  };

  explicit Call(Parts parts);

  /// Sends all tasks, and waits.
  Outcome<List> run();
  void fail(TaskFailure failure);
  /// Also ends running tasks.
  void abort();
  void resume() override;

 private:
  /// One handle for each array.
  using Inputs = std::map<Array::Identity, Array, std::owner_less<>>;
  using Identities = std::set<Array::Identity, std::owner_less<>>;

  /// Where the results of a batch are stored, and its inputs.
  struct Sending {
    std::size_t first = 0;  ///< task
    std::size_t size = 0;   ///< tasks
    os::Instant at{};
    Inputs inputs = {};
  };
  /// A finished batch that is not reported yet.
  struct ProgressEvent {
    std::size_t size = 0;  ///< tasks
    os::Instant at{};
  };

  static void collect(const Value& value, Inputs& inputs);

  void dispatch();
  bool wait();
  bool goes_on();
  bool may_send();
  bool send_one();
  bool try_send();
  Batch take(std::size_t size);
  std::optional<Task> ask_source();
  void complete(Sending& sending, BatchOutcome& outcome);
  void take_results(Sending& sending, BatchOutcome& outcome);
  void release_idle();
  void report_progress();
  bool is_wanted();
  void go_on();
  bool next_progress(CallProgress& progress);
  bool has_failed() const;

  bool may_end() const LASTREF_REQUIRES(*monitor_);
  bool has_space() const LASTREF_REQUIRES(*monitor_);
  bool is_to_send() const LASTREF_REQUIRES(*monitor_);
  bool has_progress_to_report() const LASTREF_REQUIRES(*monitor_);
  bool is_caller_wanted() const LASTREF_REQUIRES(*monitor_);
  void notify() LASTREF_REQUIRES(*monitor_);
  void end_batch() LASTREF_REQUIRES(*monitor_);

  os::Os& os_;
  std::shared_ptr<ParallelBackend> backend_;
  const ParallelOptions& options_;
  unsigned n_jobs_;
  const TaskSource& source_;
  bool reports_progress_;
  std::unique_ptr<os::Monitor> monitor_;
  os::Instant begun_;

  // Of the thread that dispatches.
  std::deque<Task> waiting_;
  bool is_at_end_ = false;

  // Of the thread that reports.
  std::size_t next_report_at_ = 1;

  bool is_dispatching_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool wants_dispatch_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool is_reporting_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool is_exhausted_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool is_over_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool caller_waits_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool caller_goes_on_ LASTREF_GUARDED_BY(*monitor_) = false;   ///< No other thread can.
  std::size_t on_their_way_ LASTREF_GUARDED_BY(*monitor_) = 0;  ///< batches
  /// Batches that are not completely handled.
  std::size_t unfinished_ LASTREF_GUARDED_BY(*monitor_) = 0;
  std::size_t completed_ LASTREF_GUARDED_BY(*monitor_) = 0;  ///< tasks
  std::deque<ProgressEvent> pending_progress_ LASTREF_GUARDED_BY(*monitor_);
  /// Batches on their way.
  std::map<Array::Identity, std::size_t, std::owner_less<>> uses_ LASTREF_GUARDED_BY(*monitor_);
  /// Inputs without uses that still exist elsewhere.
  Identities idle_ LASTREF_GUARDED_BY(*monitor_);
  std::optional<TaskFailure> failure_ LASTREF_GUARDED_BY(*monitor_);
  List results_ LASTREF_GUARDED_BY(*monitor_);
};

}  // namespace lastref::backends
