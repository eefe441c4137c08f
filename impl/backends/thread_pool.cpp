#include "impl/backends/thread_pool.hpp"

#include <algorithm>
#include <utility>

namespace lastref::backends {

ThreadPool::ThreadPool(Session session,
                       std::shared_ptr<const Functions> functions,
                       unsigned threads)
    : session_(std::move(session)),
      functions_(std::move(functions)),
      monitor_(session_.os->make_monitor()),
      home_(std::make_shared<FuturesHome>(*session_.os)),
      ending_(*session_.os, /*value=*/false) {
  threads_.reserve(threads);
  ids_.reserve(threads);
}

Result<std::shared_ptr<ThreadPool>> ThreadPool::start(Session session,
                                                      std::shared_ptr<const Functions> functions,
                                                      unsigned threads) {
  std::shared_ptr<ThreadPool> pool(
      new ThreadPool(std::move(session), std::move(functions), threads));
  for (unsigned number = 0; number < threads; ++number) {
    LASTREF_TRY(
        thread,
        pool->session_.os->start_thread([raw = pool.get()] { raw->run(); }, os::ThreadKind::users));
    pool->threads_.push_back(std::move(thread));
  }
  return pool;
}

Outcome<FuturePtr> ThreadPool::submit(Batch batch, Callback callback) {
  return sent_within_memory([&]() -> Outcome<FuturePtr> {
    auto future = std::make_shared<PoolFuture>(home_, std::move(callback));
    const os::MonitorLock held(*monitor_);
    if (ending_.load()) {
      return tl::unexpected<TaskFailure>(canceled_outcome().error());
    }
    queue_.push_back({.batch = std::move(batch), .future = future});
    monitor_->notify_all();
    return future;
  });
}

void ThreadPool::run() {
  {
    const os::MonitorLock held(*monitor_);
    ids_.push_back(session_.os->thread_id());
  }
  for (;;) {
    Job job;
    {
      const os::MonitorLock held(*monitor_);
      while (queue_.empty() && !ending_.load()) {
        monitor_->wait();
      }
      if (ending_.load()) {
        return;
      }
      job = std::move(queue_.front());
      queue_.pop_front();
    }
    job.future->finish(call_all(*functions_, {.session = session_}, std::move(job.batch), [this] {
      return !ending_.load();
    }));
  }
}

void ThreadPool::end() {
  {
    const os::MonitorLock held(*monitor_);
    ending_.store(/*value=*/true);
    monitor_->notify_all();
  }
  for (const auto& thread : threads_) {
    thread->join();
  }
  threads_.clear();
  cancel_waiting_jobs();
}

/// Called when no thread is left and no job is added. Waiting jobs stay in the queue until here,
/// because that needs no memory.
void ThreadPool::cancel_waiting_jobs() {
  while (!queue_.empty()) {
    const Job job = std::move(queue_.front());
    queue_.pop_front();
    job.future->finish(canceled_outcome());
  }
}

bool ThreadPool::is_mine(os::Pid thread) const {
  const os::MonitorLock held(*monitor_);
  return std::ranges::find(ids_, thread) != ids_.end();
}

}  // namespace lastref::backends
