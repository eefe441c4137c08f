// pool_slot: the pool that a backend has at a time, for whoever uses, ends and replaces it at once.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <lastref/backend.hpp>
#include <lastref/owners.hpp>

namespace lastref::backends {

/// A Pool has end(), which returns when nothing of it is left, and is_mine(thread).
template <typename Pool>
class PoolSlot {
 public:
  explicit PoolSlot(os::Os& os) : os_(os), monitor_(os.make_monitor()) {}

  /// None if there is none.
  std::shared_ptr<Pool> pool() const {
    const os::Held held(*monitor_);
    return pool_;
  }

  /// Ends the pool that is there, and calls `make` for another.
  ///
  /// Errors          resource_deadlock_would_occur: in a thread of the pool; what `make` said.
  template <typename Make>
  Result<Configured> replace(Make make) {
    LASTREF_CHECK(check_thread());
    const Turn turn(*this);
    return end_and(make);
  }

  /// The same, unless another thread is just about to: then its answer.
  ///
  /// Errors          as replace.
  template <typename Make>
  Result<Configured> replace_once(Make make) {
    LASTREF_CHECK(check_thread());
    {
      const os::Held held(*monitor_);
      if (is_taken_) {
        const auto one = replacing_;
        while (is_taken_) {
          monitor_->wait();
        }
        if (one && one->has_value()) {
          return **one;
        }
      }
    }
    const Turn turn(*this);
    const auto answer = std::make_shared<std::optional<Result<Configured>>>();
    set_replacing(answer);
    *answer = end_and(make);
    set_replacing(nullptr);
    return **answer;
  }

 private:
  using Answer = std::shared_ptr<std::optional<Result<Configured>>>;

  /// Whoever changes the slot does so alone.
  class Turn {
   public:
    explicit Turn(PoolSlot& slot) : slot_(slot) {
      const os::Held held(*slot_.monitor_);
      while (slot_.is_taken_) {
        slot_.monitor_->wait();
      }
      slot_.is_taken_ = true;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      const os::Held held(*slot_.monitor_);
      slot_.is_taken_ = false;
      slot_.monitor_->notify_all();
    }

   private:
    PoolSlot& slot_;
  };

  /// It would wait for itself.
  Status check_thread() const {
    const std::shared_ptr<Pool> current = pool();
    if (current && current->is_mine(os_.thread_id())) {
      return failure(std::errc::resource_deadlock_would_occur,
                     "a callback cannot end the pool that it is called by");
    }
    return ok();
  }

  /// The old pool stays in its place until it has ended, so that its threads are known.
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
    const os::Held held(*monitor_);
    pool_.swap(pool);
  }
  void set_replacing(Answer answer) {
    const os::Held held(*monitor_);
    replacing_ = std::move(answer);
  }

  os::Os& os_;
  std::unique_ptr<os::Monitor> monitor_;
  std::shared_ptr<Pool> pool_;
  bool is_taken_ = false;
  Answer replacing_;
};

}  // namespace lastref::backends
