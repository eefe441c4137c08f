// process_pool: batches in worker processes.
//
// One thread of the parent hears all workers; whoever has a batch sends it himself, if there is a
// worker to take it and room in its pipe. No call here ever waits for a worker but the poll of that
// thread, and no two workers share a pipe or a lock: one that dies, stops or goes mad leaves the
// others as they were.
//
// The references of a batch stay with the parent until its results are here or its worker is dead.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <lastref/backend.hpp>

#include "impl/backends/codec.hpp"
#include "impl/backends/crew.hpp"
#include "impl/backends/pool_future.hpp"

namespace lastref::backends {

/// A batch on its way.
struct Job final : PoolFuture {
  using PoolFuture::PoolFuture;

  std::uint64_t number = 0;
  os::Packed batch;  ///< Until it is sent.
  std::vector<Sent> sent;
};

class ProcessPool {
 public:
  struct Parts {
    Session session;
    ArrayReducer reduce;
    Rebuild rebuild;
    /// Lets go of the files of arrays that are gone: called when a batch was sent, and when one is
    /// over, after its callback.
    std::function<void()> release_gone;
  };

  /// Errors          what the start of workers or of the thread said. Nothing is left.
  static Result<std::shared_ptr<ProcessPool>> start(Parts parts, unsigned workers);

  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;
  ~ProcessPool() { end(); }

  /// Errors          Error: what cannot be encoded; operation_canceled: it was ended;
  ///                 what it is broken by.
  Outcome<FuturePtr> submit(Batch batch, Callback callback);
  /// Lets idle workers leave; kills them if there are jobs. May be called again.
  void end();
  bool is_mine(os::Pid thread) const;
  /// A worker has died: it takes no more.
  bool is_broken() const;

 private:
  using JobPtr = std::shared_ptr<Job>;

  ProcessPool(Parts parts, Crew crew);
  Status make_wake_pipe();

  Outcome<FuturePtr> send(const Batch& batch, Callback callback);

  // With the monitor held.
  void hand_out();
  void give(WorkerProcess& worker, const JobPtr& job);
  void flush(WorkerProcess& worker);
  void lose(WorkerProcess& worker);
  void wake();
  std::vector<JobPtr> take_all_jobs();

  // In the thread.
  void run();
  bool wait(std::vector<os::PollItem>& items);
  void act(const std::vector<os::PollItem>& items);
  bool drain();
  void hear(WorkerProcess& worker);
  bool obey(WorkerProcess& worker, const Message& message);
  JobPtr take_job(WorkerProcess& worker, std::uint64_t number, std::int64_t busy);
  void distrust(WorkerProcess& worker, Error trouble);
  bool bury(WorkerProcess& worker);
  void break_down(const Failure& failure);
  void finish(const JobPtr& job, BatchOutcome outcome);

  Parts parts_;
  os::Os& os_;
  std::shared_ptr<os::Monitor> futures_monitor_;
  std::unique_ptr<os::Monitor> monitor_;
  Crew crew_;
  os::UniqueFd wake_read_;
  os::UniqueFd wake_write_;
  std::deque<JobPtr> queue_;
  std::uint64_t next_number_ = 1;
  std::optional<Failure> broken_;
  bool ending_ = false;
  int poll_failures_ = 0;
  os::Pid thread_id_ = 0;
  std::unique_ptr<os::Thread> thread_;
};

}  // namespace lastref::backends
