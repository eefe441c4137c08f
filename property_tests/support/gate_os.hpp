// GateOs: the kernel, with a thread that stops at each place where its process could be forked.
//
// The held thread stops at each call of the Os, and with each monitor that it has just locked,
// until it is released to the next place. In a copy of the process a monitor of the original is not
// usable: locking, waiting on or notifying it, or destroying it while a thread of the original has
// it, is reported by `forbidden`, because it could wait indefinitely.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include <lastref/kernel_os.hpp>
#include <lastref/process_objects.hpp>
#include <lastref/worker.hpp>

#include "harness/instrument/os_around.hpp"
#include "property_tests/support/process_actions.hpp"

namespace lastref::pretend {

class GateOs final : public harness::OsAround<GateOs> {
 public:
  GateOs() : OsAround(kernel_) {}

  /// Called in a copy that makes a forbidden call.
  std::function<void()> forbidden;

  /// Runs `body` in another thread. Calls `at_stop` each time that it has stopped, and once when
  /// `body` has ended. The thread still exists then.
  void run_held(const std::function<void()>& body, const std::function<void()>& at_stop) {
    stopped_ = false;
    std::atomic<bool> is_over = false;
    std::atomic<bool> may_leave = false;
    std::thread thread([&] {
      held_here = this;
      body();
      held_here = nullptr;
      is_over = true;
      until([&] { return may_leave.load(); });
    });
    for (bool goes_on = true; goes_on;) {
      until([&] { return stopped_ || is_over; });
      goes_on = !is_over;
      at_stop();
      stopped_ = false;
    }
    may_leave = true;
    thread.join();
  }

  template <Call call, typename... Given>
  harness::AnswerOf<call> every(Given&&... given) noexcept {
    stop();
    return harness::CallOf<call>::make(inner(), std::forward<Given>(given)...);
  }
  std::unique_ptr<os::Monitor> make_monitor() noexcept override {
    return std::make_unique<GateMonitor>(*this);
  }
  os::ProcessObjects& objects() noexcept override { return objects_.of(*this, process_token()); }

 private:
  class GateMonitor final : public os::Monitor {
   public:
    explicit GateMonitor(GateOs& os)
        : os_(os), process_(os.process_token()), inner_(os.kernel_.make_monitor()) {}
    GateMonitor(const GateMonitor&) = delete;
    GateMonitor& operator=(const GateMonitor&) = delete;
    ~GateMonitor() override {
      if (users_ > 0) {
        check();
      }
    }
    void lock() noexcept override {
      check();
      inner_->lock();
      ++users_;
      os_.stop();
    }
    void unlock() noexcept override {
      check();
      --users_;
      inner_->unlock();
    }
    void wait() noexcept override {
      check();
      os_.stop();
      inner_->wait();
    }
    void notify_all() noexcept override {
      check();
      inner_->notify_all();
    }

   private:
    void check() const noexcept {
      if (os_.process_token() != process_) {
        os_.forbidden();
      }
    }

    GateOs& os_;
    std::uint64_t process_;
    std::unique_ptr<os::Monitor> inner_;
    std::atomic<int> users_ = 0;  ///< Threads that have it or wait for a notification.
  };

  void stop() noexcept {
    if (held_here == this) {
      stopped_ = true;
      until([&] { return !stopped_; });
    }
  }

  inline static thread_local GateOs* held_here = nullptr;

  os::KernelOs kernel_{{.program = this_program}};
  os::GenerationsOfObjects objects_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace lastref::pretend
