// process_pool: batches in worker processes.
//
// One thread of the parent reads from all workers, and sees their deaths. It runs no code of yours
// but callbacks that return at once. A thread that submits a batch sends it itself if a worker is
// free and the worker's pipe has space. The only wait for a worker is the poll of the I/O thread,
// and no two workers share a pipe or a lock. So a worker that dies, stops or misbehaves does not
// affect the others.
//
// A second thread decodes results that take time, and runs the other callbacks. A thread that waits
// for the results of a job does so itself if no other thread has begun.
//
// No callback is called with a monitor held; the pool's monitor is taken before that of its
// futures.
//
// The parent keeps the references of a batch until its results have arrived or its worker is dead.
//
// The thread that sends a batch allocates everything that is needed later: a node for the lists,
// and the message. So sending the batch, failing it and ending the pool need no memory. If there is
// no memory to read a reply, the pool fails with all its batches.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <lastref/backend.hpp>

#include "impl/backends/codec.hpp"
#include "impl/backends/job.hpp"
#include "impl/backends/worker_group.hpp"
#include "impl/os/limits.hpp"

namespace lastref::backends {

class ProcessPool {
 public:
  struct Parts {
    Session session;
    ArrayReducer reduce;
    Rebuild rebuild;
    /// Releases the files of arrays that no longer exist: called when a batch was sent, and when
    /// one is over, after its callback.
    std::function<void()> release_gone;
  };

  /// Errors          of the start of workers or of the threads. Nothing is left.
  static Result<std::shared_ptr<ProcessPool>> start(Parts parts, unsigned workers);

  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;
  ~ProcessPool() { end(); }

  /// Errors          Error: what cannot be encoded; operation_canceled: the pool was ended; the
  ///                 failure that broke the pool.
  Outcome<FuturePtr> submit(Batch batch, Callback callback, bool callback_is_nonblocking);
  /// Everything that is on its way fails, soon. Does not wait.
  void cancel();
  /// Lets idle workers exit; kills them if there are jobs. May be called again.
  void end();
  bool is_mine(os::Pid thread) const;
  /// A worker has died: the pool takes no more batches.
  bool is_broken() const;

 private:
  static constexpr std::size_t items_of_worker = 3;  ///< In a poll.

  ProcessPool(Parts parts, WorkerGroup group);

  Status start_threads();
  Outcome<FuturePtr> send(const Batch& batch, Callback callback, bool callback_is_nonblocking);

  void hand_out() LASTREF_REQUIRES(*monitor_);
  void give_next(WorkerProcess& worker) LASTREF_REQUIRES(*monitor_);
  void flush(WorkerProcess& worker) LASTREF_REQUIRES(*monitor_);
  void give_up(WorkerProcess& worker) LASTREF_REQUIRES(*monitor_);
  void retire(WorkerProcess& worker) LASTREF_REQUIRES(*monitor_);
  void wake() LASTREF_REQUIRES(*monitor_);
  void kill_all_for(const Error& trouble) LASTREF_REQUIRES(*monitor_);
  bool is_busy() const LASTREF_REQUIRES(*monitor_);
  Jobs take_all_jobs() LASTREF_REQUIRES(*monitor_);
  void fill_items() LASTREF_REQUIRES(*monitor_);
  std::optional<std::chrono::nanoseconds> poll_timeout() LASTREF_REQUIRES(*monitor_);

  // In the thread of the callbacks.
  void call_back();

  // In the I/O thread.
  void run();
  std::optional<TaskFailure> listen();
  std::optional<TaskFailure> act();
  void read_worker(WorkerProcess& worker);
  Status handle_messages(WorkerProcess& worker);
  Status handle_message(WorkerProcess& worker, const Message& message);
  Jobs take_job(WorkerProcess& worker, std::uint64_t number, std::int64_t busy);
  void mark_corrupt(WorkerProcess& worker, Error trouble);
  std::optional<TaskFailure> reap(WorkerProcess& worker);
  void kill_overdue();
  void break_down(const TaskFailure& failure);
  void finish(Jobs job, Reply reply);

  Parts parts_;
  os::Os& os_;
  const os::Limits& limits_{os::limits_of(os_)};
  std::shared_ptr<JobsHome> home_;
  std::unique_ptr<os::Monitor> monitor_;
  WorkerGroup group_;  ///< The I/O thread alone changes it, with the monitor held.
  os::UniqueFd wake_read_;
  os::UniqueFd wake_write_ LASTREF_GUARDED_BY(*monitor_);
  std::unique_ptr<os::Thread> io_thread_;
  std::unique_ptr<os::Thread> callback_thread_;
  Jobs queue_ LASTREF_GUARDED_BY(*monitor_);
  Jobs awaiting_callback_ LASTREF_GUARDED_BY(*monitor_);  ///< Over.
  std::uint64_t next_number_ LASTREF_GUARDED_BY(*monitor_) = 1;
  std::optional<TaskFailure> broken_ LASTREF_GUARDED_BY(*monitor_);
  os::Pid io_thread_id_ LASTREF_GUARDED_BY(*monitor_) = 0;
  os::Pid callback_thread_id_ LASTREF_GUARDED_BY(*monitor_) = 0;
  bool is_woken_ LASTREF_GUARDED_BY(*monitor_) = false;  ///< A byte is in its pipe, or will be.
  bool canceled_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool ending_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool is_down_ LASTREF_GUARDED_BY(*monitor_) = false;  ///< All jobs are over.

  // Of the I/O thread.
  std::vector<os::PollItem> items_;  ///< With space for all.
  int poll_failures_ = 0;            ///< In a row.
};

}  // namespace lastref::backends
