// DrainGuard: an object that threads use without a lock; the last of them destroys it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "impl/os/atomic.hpp"

namespace lastref::cache {

/// The object is opened once and shut once. Threads that are inside when it is shut continue; later
/// ones find nothing. The last thread that leaves destroys the object. If a process forks while a
/// thread is inside, its child never destroys its copy.
template <typename T>
class DrainGuard {
 public:
  class Use {
   public:
    explicit Use(DrainGuard& guarded) noexcept : guard_(guarded), is_inside_(guarded.enter()) {}
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() { guard_.leave(); }

    explicit operator bool() const noexcept { return is_inside_; }
    T& operator*() const noexcept { return *guard_.value_; }
    T* operator->() const noexcept { return guard_.value_.get(); }
    /// Whether no other thread was inside at some moment since the call. Threads that enter later
    /// see all stores that were made before.
    bool is_alone() const noexcept {
      return (guard_.state_.fetch_add(0, std::memory_order_acq_rel) & ~flags) == 1;
    }

   private:
    DrainGuard& guard_;
    bool is_inside_;
  };

  explicit DrainGuard(os::Os& os) noexcept : state_(os, flags) {}
  DrainGuard(const DrainGuard&) = delete;
  DrainGuard& operator=(const DrainGuard&) = delete;
  ~DrainGuard() = default;

  /// Called by one thread, once.
  void open(std::unique_ptr<T> value) noexcept {
    value_ = std::move(value);
    state_.fetch_and(~flags, std::memory_order_release);
  }

  /// Whether no thread is inside, and nothing is being destroyed.
  bool is_idle() const noexcept {
    const std::uint64_t state = state_.load(std::memory_order_acquire);
    return (state & ~flags) == 0 && ((state & shut_bit) == 0 || (state & gone_bit) != 0);
  }

  /// Whether it was open until now.
  bool shut() noexcept {
    state_.fetch_add(1, std::memory_order_acquire);
    const bool was_open = (state_.fetch_or(shut_bit, std::memory_order_acq_rel) & shut_bit) == 0;
    leave();
    return was_open;
  }

 private:
  static constexpr std::uint64_t shut_bit = std::uint64_t{1} << 63U;
  static constexpr std::uint64_t going_bit = std::uint64_t{1} << 62U;
  static constexpr std::uint64_t gone_bit = std::uint64_t{1} << 61U;
  static constexpr std::uint64_t flags = shut_bit | going_bit | gone_bit;

  bool enter() noexcept { return (state_.fetch_add(1, std::memory_order_acquire) & shut_bit) == 0; }

  void leave() noexcept {
    if (state_.fetch_sub(1, std::memory_order_acq_rel) != (shut_bit | 1U)) {
      return;
    }
    // If a thread has entered since then, it will find the object shut, and is the last one.
    std::uint64_t expected = shut_bit;
    if (state_.change(
            expected, shut_bit | going_bit, std::memory_order_acq_rel, std::memory_order_relaxed)) {
      value_.reset();
      // The last access: after it, a thread that waits may destroy this object.
      state_.fetch_or(gone_bit, std::memory_order_release);
    }
  }

  os::Atomic<std::uint64_t> state_;  // flags, and the number of threads inside
  std::unique_ptr<T> value_;
};

}  // namespace lastref::cache
