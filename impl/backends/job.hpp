// job: a batch on its way through worker processes, from its bytes to its results.
//
// The thread that reads from the workers stores their answer in the job, as bytes, and continues.
// Another thread decodes the results and calls back, which may take its time: another thread of the
// pool, or the first one that asks the job. A future is ready as soon as its outcome is known:
// `get` waits only for its own callback.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "impl/backends/codec.hpp"
#include "impl/backends/pipe_ends.hpp"
#include "impl/backends/pool_future.hpp"

namespace lastref::backends {

class Job;

/// What all jobs of a pool share.
struct JobsHome final : FuturesHome {
  JobsHome(os::Os& its_os, Rebuild its_rebuild)
      : FuturesHome(its_os), rebuild(std::move(its_rebuild)) {}

  bool is_calling_back(os::Pid thread) const LASTREF_NOT_CHECKED;  // All jobs share its monitor.
  /// Returns when no thread is calling back.
  void wait_for_callbacks() const;

  Rebuild rebuild;
  /// The first of the jobs that are calling back.
  Job* calling_back LASTREF_GUARDED_BY(*monitor) = nullptr;
};

/// A worker's answer for a job.
struct Answer {
  MessageKind kind = MessageKind::results;
  os::Packed body;
};

/// Or the reason why there will never be one.
using Reply = std::variant<Answer, TaskFailure>;

/// The tasks of a batch, described for people.
struct TasksOfBatch {
  std::string first;  ///< The name of its function.
  std::size_t count = 0;
  bool are_alike = true;  ///< All have that function.
};

TasksOfBatch tasks_of(const Batch& batch);
/// In the format of TerminatedWorker.
std::string describe(const TasksOfBatch& tasks);

class Job final : public BatchFuture {
 public:
  Job(std::shared_ptr<JobsHome> home, Callback callback, bool callback_is_nonblocking) noexcept
      : home_(std::move(home)),
        callback_(std::move(callback)),
        callback_is_nonblocking_(callback_is_nonblocking) {}

  const BatchOutcome& get() override;
  bool is_ready() const override;

  /// Called once.
  void arrive(Reply reply);
  /// Decodes the answer and calls back, unless a thread does that already or has done it.
  void run_callback();
  bool callback_is_nonblocking() const noexcept { return callback_is_nonblocking_; }
  /// Whether `run_callback` returns at once for that reply: it takes no time and waits for nothing.
  bool is_instant(const Reply& reply) const;

  std::uint64_t number = 0;
  WholeMessage message;               ///< Until it is sent.
  std::list<std::vector<Sent>> sent;  ///< One.
  TasksOfBatch tasks;

 private:
  friend struct JobsHome;
  enum class State : std::uint8_t { waiting, arrived, calling_back, done };

  bool claim();
  const BatchOutcome& outcome_in_child() LASTREF_NOT_CHECKED;
  BatchOutcome outcome_of(const Reply& reply) const;

  std::shared_ptr<JobsHome> home_;
  Callback callback_;
  bool callback_is_nonblocking_;  ///< Its callback takes no time.

  State state_ LASTREF_GUARDED_BY(*home_->monitor) = State::waiting;
  Reply reply_;  ///< When the job has arrived, of the thread that claims it.
  std::optional<BatchOutcome> outcome_ LASTREF_GUARDED_BY(*home_->monitor);
  os::Pid callback_thread_ LASTREF_GUARDED_BY(*home_->monitor) = 0;
  Job* next_calling_back_ LASTREF_GUARDED_BY(*home_->monitor) = nullptr;
};

using JobPtr = std::shared_ptr<Job>;
/// Each is in one list, and moves to another without memory.
using Jobs = std::list<JobPtr>;

}  // namespace lastref::backends
