// call: one call of a Parallel.
//
// The thread that runs the call asks the source and sends the tasks. Where progress is reported, a
// thread of the call does it, so that neither a source nor a progress callback that waits keeps the
// other one from being called. The threads that call back run no code of yours and do nothing that
// takes long: they store results, and send tasks that are known and small. Your code is never
// called with anything locked.
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
class Call : public std::enable_shared_from_this<Call> {
 public:
  struct Parts {
    os::Os& os;
    std::shared_ptr<ParallelBackend> backend;
    const ParallelOptions& options;
    unsigned n_jobs = 1;
    const TaskSource& source;
    bool is_source_ours = false;  ///< It returns at once, and runs no code of yours.
  };

  explicit Call(Parts parts);

  /// Sends all tasks, and waits.
  Outcome<List> run();
  void fail(TaskFailure failure);
  /// Also ends running tasks.
  void abort();

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

  bool wait();
  void send(bool is_caller);
  bool still_has_space();
  bool send_one(bool is_caller);
  bool is_brief(const Task& task) const;
  std::size_t prepare(std::size_t size);
  Batch take(std::size_t size);
  std::optional<Task> ask_source();
  void complete(Sending& sending, BatchOutcome& outcome);
  void take_results(Sending& sending, BatchOutcome& outcome);
  void release_idle();
  void report_progress();
  bool next_progress(CallProgress& progress);
  bool has_failed() const;
  void end_reporting(std::unique_ptr<os::Thread> reporter);

  bool may_end() const LASTREF_REQUIRES(*monitor_);
  bool has_space() const LASTREF_REQUIRES(*monitor_);
  bool is_caller_wanted() const LASTREF_REQUIRES(*monitor_);
  void notify() LASTREF_REQUIRES(*monitor_);

  os::Os& os_;
  std::shared_ptr<ParallelBackend> backend_;
  const ParallelOptions& options_;
  unsigned n_jobs_;
  const TaskSource& source_;
  bool may_send_back_;  ///< From the threads that call back.
  bool reports_progress_;
  std::unique_ptr<os::Monitor> monitor_;
  os::Instant begun_;

  // Of the thread that sends.
  std::deque<Task> waiting_;
  bool is_at_end_ = false;

  bool is_exhausted_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool is_over_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool is_sending_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool caller_waits_ LASTREF_GUARDED_BY(*monitor_) = false;
  std::size_t on_their_way_ LASTREF_GUARDED_BY(*monitor_) = 0;  ///< batches
  std::size_t completed_ LASTREF_GUARDED_BY(*monitor_) = 0;     ///< tasks
  std::deque<ProgressEvent> pending_progress_ LASTREF_GUARDED_BY(*monitor_);
  /// Batches on their way.
  std::map<Array::Identity, std::size_t, std::owner_less<>> uses_ LASTREF_GUARDED_BY(*monitor_);
  /// Inputs without uses that still exist elsewhere.
  Identities idle_ LASTREF_GUARDED_BY(*monitor_);
  std::optional<TaskFailure> failure_ LASTREF_GUARDED_BY(*monitor_);
  List results_ LASTREF_GUARDED_BY(*monitor_);
};

}  // namespace lastref::backends
