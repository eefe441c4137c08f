// pool_future: results that a pool will have.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <lastref/backend.hpp>
#include <lastref/owners.hpp>

namespace lastref::backends {

class PoolFuture : public Future {
 public:
  /// `monitor` is that of all futures of a pool.
  PoolFuture(std::shared_ptr<os::Monitor> monitor, Callback callback) noexcept
      : monitor_(std::move(monitor)), callback_(std::move(callback)) {}

  const BatchOutcome& get() override {
    const os::Held held(*monitor_);
    while (!outcome_) {
      monitor_->wait();
    }
    return *outcome_;
  }

  bool is_ready() const override {
    const os::Held held(*monitor_);
    return outcome_.has_value();
  }

  /// Once.
  void finish(BatchOutcome outcome) {
    if (const Callback callback = std::exchange(callback_, nullptr)) {
      callback(outcome);
    }
    const os::Held held(*monitor_);
    outcome_ = std::move(outcome);
    monitor_->notify_all();
  }

 private:
  std::shared_ptr<os::Monitor> monitor_;
  Callback callback_;
  std::optional<BatchOutcome> outcome_;
};

inline BatchOutcome canceled() {
  return failed({.code = std::errc::operation_canceled, .subject = "the backend was ended"});
}

inline Error not_configured() {
  return {.code = std::errc::operation_not_permitted, .subject = "the backend is not configured"};
}

}  // namespace lastref::backends
