// pool_slot: the current pool of a backend, which threads may use, end and replace at the same
// time.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <lastref/backend.hpp>
#include <lastref/owners.hpp>

#include "impl/os/within_memory.hpp"

namespace lastref::backends {

/// A Pool has end(), which returns when nothing of the pool remains, and is_mine(thread).
template <typename Pool>
class PoolSlot {
 public:
  explicit PoolSlot(os::Os& os) : os_(os), monitor_(os.make_monitor()) {}

  /// None if there is none.
  std::shared_ptr<Pool> pool() const {
    const os::MonitorLock held(*monitor_);
    return pool_;
  }

  /// Ends the current pool, if any, and calls `make` for another.
  ///
  /// Errors          resource_deadlock_would_occur: in a callback of the pool; of `make`.
  template <typename Make>
  Result<Configured> replace(Make make) {
    LASTREF_CHECK(check_thread());
    const Turn turn(*this);
    return end_and(make);
  }

  /// As replace, but shares the result if another thread is already making the same replacement.
  ///
  /// Errors          as replace.
  template <typename Make>
  Result<Configured> replace_once(bool wish, Make make) {
    LASTREF_CHECK(check_thread());
    {
      const os::MonitorLock held(*monitor_);
      if (const auto other = replacing_; other && other->wish == wish) {
        while (!other->answer) {
          monitor_->wait();
        }
        return *other->answer;
      }
    }
    const Turn turn(*this);
    const auto mine = std::make_shared<Replacing>(Replacing{.wish = wish});
    set_replacing(mine);
    auto answer = os::within_memory("a backend", [&] { return end_and(make); });
    {
      const os::MonitorLock held(*monitor_);
      if (!os::had_memory([&] { mine->answer.emplace(answer); })) {
        mine->answer.emplace(os::no_memory("a backend"));
      }
      replacing_ = nullptr;
      monitor_->notify_all();
    }
    return answer;
  }

 private:
  /// The replacement that the owner of the turn makes.
  struct Replacing {
    bool wish = false;
    std::optional<Result<Configured>> answer = {};
  };

  /// Only the owner of the turn changes the slot.
  class Turn {
   public:
    explicit Turn(PoolSlot& slot) : slot_(slot) {
      const os::Pid thread = slot_.os_.thread_id();
      const os::MonitorLock held(*slot_.monitor_);
      while (slot_.taken_by_) {
        slot_.monitor_->wait();
      }
      slot_.taken_by_ = thread;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      const os::MonitorLock held(*slot_.monitor_);
      slot_.taken_by_ = std::nullopt;
      slot_.monitor_->notify_all();
    }

   private:
    PoolSlot& slot_;
  };

  /// The thread would wait for itself: in a thread of the pool, or in a callback of a pool that
  /// ends.
  Status check_thread() const {
    const os::Pid thread = os_.thread_id();
    std::shared_ptr<Pool> current;
    bool has_turn = false;
    {
      const os::MonitorLock held(*monitor_);
      current = pool_;
      has_turn = taken_by_ == thread;
    }
    if (has_turn || (current && current->is_mine(thread))) {
      return failure(std::errc::resource_deadlock_would_occur,
                     "a callback cannot end the pool that it is called by");
    }
    return ok();
  }

  /// The old pool stays in the slot until it has ended, so that its threads are known.
  template <typename Make>
  Result<Configured> end_and(Make make) {
    if (const std::shared_ptr<Pool> old = pool()) {
      old->end();
      set(nullptr);
    }
    std::shared_ptr<Pool> made;
    Result<Configured> configured = make(made);
    set(std::move(made));
    return configured;
  }

  void set(std::shared_ptr<Pool> pool) {
    const os::MonitorLock held(*monitor_);
    pool_.swap(pool);
  }
  void set_replacing(std::shared_ptr<const Replacing> replacing) {
    const os::MonitorLock held(*monitor_);
    replacing_ = std::move(replacing);
  }

  os::Os& os_;
  std::unique_ptr<os::Monitor> monitor_;
  std::shared_ptr<Pool> pool_ LASTREF_GUARDED_BY(*monitor_);
  std::optional<os::Pid> taken_by_ LASTREF_GUARDED_BY(*monitor_);  ///< thread
  std::shared_ptr<const Replacing> replacing_ LASTREF_GUARDED_BY(*monitor_);
};

}  // namespace lastref::backends
