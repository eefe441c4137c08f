// thread_pool: batches in threads of this process, in the order in which they were submitted.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include <lastref/backend.hpp>

#include "impl/backends/pool_future.hpp"
#include "impl/os/atomic.hpp"

namespace lastref::backends {

class ThreadPool {
 public:
  /// Errors          of start_thread. No thread is left.
  static Result<std::shared_ptr<ThreadPool>> start(Session session,
                                                   std::shared_ptr<const Functions> functions,
                                                   unsigned threads);

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() { end(); }

  /// Errors          operation_canceled: it was ended.
  Outcome<FuturePtr> submit(Batch batch, Callback callback);
  /// Cancels waiting tasks, and waits for running ones. May be called again.
  void end();
  bool is_mine(os::Pid thread) const;

 private:
  struct Job {
    Batch batch;
    std::shared_ptr<PoolFuture> future;
  };

  ThreadPool(Session session, std::shared_ptr<const Functions> functions, unsigned threads);
  void run();
  void cancel_waiting_jobs() LASTREF_NOT_CHECKED;

  Session session_;
  std::shared_ptr<const Functions> functions_;
  std::unique_ptr<os::Monitor> monitor_;
  std::shared_ptr<FuturesHome> home_;
  std::deque<Job> queue_ LASTREF_GUARDED_BY(*monitor_);
  os::Atomic<bool> ending_;  ///< Set with the monitor.
  std::vector<os::Pid> ids_ LASTREF_GUARDED_BY(*monitor_);
  std::vector<std::unique_ptr<os::Thread>> threads_;
};

}  // namespace lastref::backends
