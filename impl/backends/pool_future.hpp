// pool_future: results that a pool will have.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include <lastref/backend.hpp>
#include <lastref/owners.hpp>

#include "impl/backends/exceptions.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::backends {

/// Without its subject if there is no memory for that.
inline Error error_about(std::errc code, std::string_view subject) noexcept {
  Error error;
  error.code = code;
  static_cast<void>(os::had_memory([&] { error.subject = subject; }));
  return error;
}

inline BatchOutcome canceled_outcome() noexcept {
  return failed(error_about(std::errc::operation_canceled, "the backend was ended"));
}

inline Error not_configured() noexcept {
  return error_about(std::errc::operation_not_permitted, "the backend is not configured");
}

/// The error of an object for which there was no memory when it was made.
inline Error not_made() noexcept {
  return error_about(std::errc::not_enough_memory, "a backend");
}

template <typename StatePtr>
Status check_made(const StatePtr& state) noexcept {
  return state ? ok() : failure(not_made());
}

/// The error of a call for which there was no memory.
inline tl::unexpected<TaskFailure> no_memory() noexcept {
  return failed(error_about(std::errc::not_enough_memory, "a batch"));
}

/// The error for a process that was forked from the owner of an object. The owner's threads are not
/// in this process, and its locks may be held permanently.
inline Error not_ours() noexcept {
  return error_about(std::errc::operation_not_permitted,
                     "it belongs to the process that this one was forked from");
}

/// Returns what `body` sends; not_enough_memory if an allocation failed in it.
template <typename Body>
Outcome<FuturePtr> sent_within_memory(Body body) noexcept {
  Outcome<FuturePtr> sent = no_memory();
  static_cast<void>(os::had_memory([&] { sent = body(); }));
  return sent;
}

/// Keeps a state permanently, without ever destroying it.
template <typename State>
void keep_for_good(std::shared_ptr<State> state) noexcept {
  alignas(std::shared_ptr<State>) std::array<std::byte, sizeof state> place;
  // Not destroyed: the reference count stays.
  static_cast<void>(new (place.data()) std::shared_ptr<State>(std::move(state)));
}

/// Calls back. An exception of the callback becomes the outcome.
inline void call_back(Callback callback, BatchOutcome& outcome) noexcept {
  if (!callback) {
    return;
  }
  if (auto thrown = catch_as_failure([&] { callback(outcome); }, "a callback")) {
    outcome = tl::unexpected<TaskFailure>(*std::move(thrown));
  }
}

/// The shared state of all futures of a pool, which may outlive it.
struct FuturesHome {
  explicit FuturesHome(os::Os& its_os)
      : os(its_os), token(its_os.process_token()), monitor(its_os.make_monitor()) {}

  bool is_ours() const noexcept { return os.process_token() == token; }

  os::Os& os;
  std::uint64_t token;  ///< Of its process.
  std::unique_ptr<os::Monitor> monitor;
};

class PoolFuture : public BatchFuture {
 public:
  PoolFuture(std::shared_ptr<FuturesHome> home, Callback callback) noexcept
      : home_(std::move(home)), callback_(std::move(callback)) {}

  const BatchOutcome& get() override {
    if (!home_->is_ours()) {
      return outcome_in_child();
    }
    const os::MonitorLock held(*home_->monitor);
    while (!outcome_) {
      home_->monitor->wait();
    }
    return *outcome_;
  }

  bool is_ready() const override {
    if (!home_->is_ours()) {
      return true;
    }
    const os::MonitorLock held(*home_->monitor);
    return outcome_.has_value();
  }

  /// Called once.
  void finish(BatchOutcome outcome) {
    call_back(std::exchange(callback_, nullptr), outcome);
    const os::MonitorLock held(*home_->monitor);
    outcome_ = std::move(outcome);
    home_->monitor->notify_all();
  }

 private:
  /// In a forked child, where the monitor may be locked permanently.
  const BatchOutcome& outcome_in_child() LASTREF_NOT_CHECKED {
    return outcome_ ? *outcome_ : outcome_.emplace(failed(not_ours()));
  }

  std::shared_ptr<FuturesHome> home_;
  Callback callback_;
  std::optional<BatchOutcome> outcome_ LASTREF_GUARDED_BY(*home_->monitor);
};

}  // namespace lastref::backends
