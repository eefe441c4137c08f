// StdThreads and TbbThreads: pools of two threads in this process, to compare ours with.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "bench/tbb_module.hpp"

namespace lastref::bench {

/// Threads that take tasks from one queue. Each task has a future, for its result or its exception.
class StdThreads {
 public:
  StdThreads() {
    for (std::thread& each : threads_) {
      each = std::thread([this] { run(); });
    }
  }
  StdThreads(const StdThreads&) = delete;
  StdThreads& operator=(const StdThreads&) = delete;
  ~StdThreads() {
    {
      const std::lock_guard held(mutex_);
      is_ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& each : threads_) {
      each.join();
    }
  }

  std::future<void> submit(std::function<void()> function) {
    std::packaged_task<void()> task(std::move(function));
    std::future<void> future = task.get_future();
    {
      const std::lock_guard held(mutex_);
      queue_.push_back(std::move(task));
    }
    changed_.notify_one();
    return future;
  }

  /// Calls act(index) for each index below `count`.
  template <typename Act>
  void for_each(std::size_t count, const Act& act) {
    std::vector<std::future<void>> futures;
    futures.reserve(count);
    for (std::size_t index = 0; index < count; ++index) {
      futures.push_back(submit([&act, index] { act(index); }));
    }
    for (std::future<void>& each : futures) {
      each.get();
    }
  }

 private:
  void run() {
    std::unique_lock held(mutex_);
    for (;;) {
      changed_.wait(held, [this] { return is_ending_ || !queue_.empty(); });
      if (queue_.empty()) {
        return;
      }
      std::packaged_task<void()> task = std::move(queue_.front());
      queue_.pop_front();
      held.unlock();
      task();
      held.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> queue_;
  bool is_ending_ = false;
  std::array<std::thread, 2> threads_;
};

/// oneTBB, from its module.
class TbbThreads {
 public:
  TbbThreads() : arena_(make()) {}

  /// Calls act(index) for each index below `count`.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& act) {
    arena_->for_each(count, act);
  }

 private:
  static std::unique_ptr<TbbArena> make();

  std::unique_ptr<TbbArena> arena_;
};

}  // namespace lastref::bench
