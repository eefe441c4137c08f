// pool_future: results that a pool will have.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <lastref/backend.hpp>
#include <lastref/owners.hpp>

#include "impl/backends/safely.hpp"

namespace lastref::backends {

inline BatchOutcome canceled() {
  return failed({.code = std::errc::operation_canceled, .subject = "the backend was ended"});
}

inline Error not_configured() {
  return {.code = std::errc::operation_not_permitted, .subject = "the backend is not configured"};
}

/// What a process is told that was forked from the one which has made a thing. The threads of that
/// are not here, and what is locked may be so for ever.
inline Error not_ours() {
  return {.code = std::errc::operation_not_permitted,
          .subject = "it belongs to the process that this one was forked from"};
}

/// Calls back. What the callback throws is the outcome.
inline void call_back(Callback callback, BatchOutcome& outcome) noexcept {
  if (!callback) {
    return;
  }
  if (auto thrown = thrown_by([&] { callback(outcome); }, "a callback")) {
    outcome = tl::unexpected<Failure>(*std::move(thrown));
  }
}

/// What all futures of a pool share, also when it is gone.
struct FuturesHome {
  explicit FuturesHome(os::Os& its_os)
      : os(its_os), token(its_os.process_token()), monitor(its_os.make_monitor()) {}

  bool is_ours() const noexcept { return os.process_token() == token; }

  os::Os& os;
  std::uint64_t token;  ///< Of the process that it belongs to.
  std::unique_ptr<os::Monitor> monitor;
};

class PoolFuture : public Future {
 public:
  PoolFuture(std::shared_ptr<FuturesHome> home, Callback callback) noexcept
      : home_(std::move(home)), callback_(std::move(callback)) {}

  const BatchOutcome& get() override {
    if (!home_->is_ours()) {
      return outcome_ ? *outcome_ : outcome_.emplace(failed(not_ours()));
    }
    const os::Held held(*home_->monitor);
    while (!outcome_) {
      home_->monitor->wait();
    }
    return *outcome_;
  }

  bool is_ready() const override {
    if (!home_->is_ours()) {
      return true;
    }
    const os::Held held(*home_->monitor);
    return outcome_.has_value();
  }

  /// Once.
  void finish(BatchOutcome outcome) {
    call_back(std::exchange(callback_, nullptr), outcome);
    const os::Held held(*home_->monitor);
    outcome_ = std::move(outcome);
    home_->monitor->notify_all();
  }

 private:
  std::shared_ptr<FuturesHome> home_;
  Callback callback_;
  std::optional<BatchOutcome> outcome_;
};

}  // namespace lastref::backends
