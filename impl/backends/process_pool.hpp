// process_pool: batches in worker processes.
//
// One thread of the parent reads from all workers. A thread that submits a batch sends it itself if
// a worker is free and the worker's pipe has space. The only wait for a worker is the poll of the
// reading thread, and no two workers share a pipe or a lock. So a worker that dies, stops or
// misbehaves does not affect the others.
//
// There are two I/O threads, and one of them leads. The leader moves bytes, notices
// deaths and decides which jobs are over. The other one is on standby. It decodes results that take
// time, and runs callbacks that may take long. It takes the lead when the leader is away in a
// callback (see yield_io_thread) and something needs a leader: a worker dies, or a thread cancels,
// sends, or waits for results. Otherwise it sleeps, so that a short callback needs no change of
// threads. If it cannot take over, the call that could not yield its thread is deferred until the
// other one is back.
// A thread that waits for the results of a job decodes them and calls the callback itself if no
// other thread has begun.
//
//   leads --yield_io_thread--> away, leads --the other wakes--> away --returns--> on standby
//                            '------------returns-----------> leads
//   on standby --a job is over--> away, on standby --callback returned--> on standby
//
// Only the leader reads the pipes from the workers, and reaps them. No callback is called with a
// monitor held; the pool's monitor is taken before that of its futures.
//
// The parent keeps the references of a batch until its results have arrived or its worker is dead.
//
// The thread that sends a batch allocates everything that is needed later: a node for the lists,
// and the message. So sending the batch, failing it and ending the pool need no memory. If there is
// no memory to read a reply, the pool fails with all its batches.
#pragma once

#include <array>
#include <deque>
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

  /// Errors          of the start of workers or of the thread. Nothing is left.
  static Result<std::shared_ptr<ProcessPool>> start(Parts parts, unsigned workers);

  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;
  ~ProcessPool() { end(); }

  /// Errors          Error: what cannot be encoded; operation_canceled: the pool was ended; the
  ///                 failure that broke the pool.
  Outcome<FuturePtr> submit(Batch batch, Callback callback, bool callback_is_nonblocking);
  /// Everything that is on its way fails, soon. Does not wait.
  void cancel();
  /// See ParallelBackend.
  bool yield_io_thread(bool waits, PendingWork& work);
  /// Lets idle workers exit; kills them if there are jobs. May be called again.
  void end();
  bool is_mine(os::Pid thread) const;
  /// A worker has died: the pool takes no more batches.
  bool is_broken() const;

 private:
  static constexpr std::size_t items_of_worker = 3;  ///< In a poll of the leader.

  ProcessPool(Parts parts, WorkerGroup group);
  /// One of the two threads.
  struct IoThread {
    os::UniqueFd wake_read;
    os::UniqueFd wake_write;
    std::unique_ptr<os::Thread> thread;
    std::vector<os::PollItem> items;  ///< With space for all. Used by its thread only.
    os::Pid id = 0;
    bool is_away = false;   ///< In a callback that may take its time.
    bool is_woken = false;  ///< A byte is in its pipe, or will be.
    bool is_idle = false;   ///< It waits at the monitor.
    bool has_seen = false;  ///< A death, which the leader sees as well.
    int poll_failures = 0;  ///< In a row. Used by its thread only.
  };
  /// What an I/O thread does next.
  enum class Next : std::uint8_t { listen, run_callback, resume, break_down, leave };

  Status start_io_thread(std::size_t at);
  Outcome<FuturePtr> send(const Batch& batch, Callback callback, bool callback_is_nonblocking);

  void hand_out() LASTREF_REQUIRES(*monitor_);
  void give_next(WorkerProcess& worker) LASTREF_REQUIRES(*monitor_);
  void flush(WorkerProcess& worker) LASTREF_REQUIRES(*monitor_);
  void give_up(WorkerProcess& worker) LASTREF_REQUIRES(*monitor_);
  void retire(WorkerProcess& worker) LASTREF_REQUIRES(*monitor_);
  void wake(IoThread& io_thread) LASTREF_REQUIRES(*monitor_);
  void wake_all() LASTREF_REQUIRES(*monitor_);
  void wake_server() LASTREF_REQUIRES(*monitor_);
  void kill_all_for(const Error& trouble) LASTREF_REQUIRES(*monitor_);
  bool is_busy() const LASTREF_REQUIRES(*monitor_);
  Jobs take_all_jobs() LASTREF_REQUIRES(*monitor_);
  bool may_lead(std::size_t at) LASTREF_REQUIRES(*monitor_);
  void defer(PendingWork& work) LASTREF_REQUIRES(*monitor_);
  bool may_resume(std::size_t at) const LASTREF_REQUIRES(*monitor_);
  void idle(IoThread& io_thread) LASTREF_REQUIRES(*monitor_);
  void fill_items(IoThread& io_thread, bool leads) const LASTREF_REQUIRES(*monitor_);
  std::optional<std::chrono::nanoseconds> poll_timeout() LASTREF_REQUIRES(*monitor_);

  // In the threads.
  void run(std::size_t at);
  void serve(std::size_t at);
  Next next(std::size_t at, JobPtr& job);
  void drain(IoThread& io_thread);
  void fail_pool(std::size_t at, const TaskFailure& failure);
  void listen(std::size_t at);

  // Called by the leader.
  void act(std::size_t at, const std::vector<os::PollItem>& items);
  bool goes_on(std::size_t at);
  void resume();
  bool read_worker(std::size_t at, WorkerProcess& worker);
  bool read(std::size_t at, WorkerProcess& worker);
  bool handle_message(WorkerProcess& worker, const Message& message);
  Jobs take_job(WorkerProcess& worker, std::uint64_t number, std::int64_t busy);
  void mark_corrupt(WorkerProcess& worker, Error trouble);
  bool reap(std::size_t at, WorkerProcess& worker);
  void kill_overdue();
  void break_down(const TaskFailure& failure);
  void finish(Jobs job, Reply reply);

  Parts parts_;
  os::Os& os_;
  const os::Limits& limits_{os::limits_of(os_)};
  std::shared_ptr<JobsHome> home_;
  std::unique_ptr<os::Monitor> monitor_;
  WorkerGroup group_;  ///< The leader alone changes it, with the monitor held.
  Jobs queue_ LASTREF_GUARDED_BY(*monitor_);
  Jobs awaiting_callback_ LASTREF_GUARDED_BY(*monitor_);  ///< Over; the standby thread calls back.
  std::deque<std::weak_ptr<PendingWork>> pending_work_
      LASTREF_GUARDED_BY(*monitor_);  ///< Each once.
  std::uint64_t next_number_ LASTREF_GUARDED_BY(*monitor_) = 1;
  std::optional<TaskFailure> broken_ LASTREF_GUARDED_BY(*monitor_);
  bool canceled_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool ending_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool is_down_ LASTREF_GUARDED_BY(*monitor_) = false;  ///< A thread ends the workers.
  std::size_t leader_ LASTREF_GUARDED_BY(*monitor_) = 0;
  bool is_new_leader_ LASTREF_GUARDED_BY(*monitor_) = false;  ///< Messages may be in the inboxes.
  std::array<IoThread, 2> io_threads_;
};

}  // namespace lastref::backends
