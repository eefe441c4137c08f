#include "impl/backends/call.hpp"

#include <algorithm>
#include <utility>

#include "impl/backends/exceptions.hpp"
#include "impl/backends/pool_future.hpp"

namespace lastref::backends {

Call::Call(Parts parts)
    : os_(parts.os),
      backend_(std::move(parts.backend)),
      options_(parts.options),
      n_jobs_(parts.n_jobs),
      source_(parts.source),
      reports_progress_(options_.progress || options_.verbose > 0),
      monitor_(os_.make_monitor()),
      begun_(os_.now()) {}

Outcome<List> Call::run() {
  do {
    dispatch();
    report_progress();
  } while (wait());
  const os::MonitorLock held(*monitor_);
  if (failure_) {
    return tl::unexpected<TaskFailure>(*std::move(failure_));
  }
  return std::move(results_);
}

/// False when the call is over; true if the caller has something to do.
bool Call::wait() {
  const os::MonitorLock held(*monitor_);
  caller_waits_ = true;
  while (!may_end() && !is_caller_wanted()) {
    monitor_->wait();
  }
  caller_waits_ = false;
  caller_goes_on_ = false;
  is_over_ = may_end();
  return !is_over_;
}

/// Sends as many batches as may be in flight. One thread at a time does this, for all threads.
void Call::dispatch() {
  {
    const os::MonitorLock held(*monitor_);
    wants_dispatch_ = true;
    if (std::exchange(is_dispatching_, true)) {
      return;
    }
  }
  while (goes_on()) {
    while (may_send() && send_one()) {
    }
  }
}

void Call::fail(TaskFailure failure) {
  const os::MonitorLock held(*monitor_);
  if (!failure_ && !is_over_) {
    failure_ = std::move(failure);
  }
  notify();
}

void Call::abort() {
  fail(error_about(std::errc::operation_canceled, "the call was aborted"));
  backend_->cancel();
}

bool Call::may_end() const {
  return !is_dispatching_ && (failure_ || (is_exhausted_ && unfinished_ == 0 && !is_reporting_ &&
                                           pending_progress_.empty()));
}

bool Call::has_space() const {
  return !failure_ && !is_over_ && !is_exhausted_ &&
         (!options_.pre_dispatch || on_their_way_ / n_jobs_ < *options_.pre_dispatch);
}

bool Call::is_to_send() const {
  return has_space() && !is_dispatching_;
}

bool Call::has_progress_to_report() const {
  return !pending_progress_.empty() && !is_reporting_;
}

bool Call::is_caller_wanted() const {
  return has_progress_to_report() || (caller_goes_on_ && is_to_send());
}

/// Not after each batch: the caller would take a processor from the working threads.
void Call::notify() {
  if (caller_waits_ && (may_end() || is_caller_wanted())) {
    monitor_->notify_all();
  }
}

bool Call::goes_on() {
  const os::MonitorLock held(*monitor_);
  is_dispatching_ = std::exchange(wants_dispatch_, false);
  notify();
  return is_dispatching_;
}

bool Call::has_failed() const {
  const os::MonitorLock held(*monitor_);
  return failure_.has_value();
}

bool Call::may_send() {
  const os::MonitorLock held(*monitor_);
  return has_space();
}

/// False if there was nothing to send, or it could not be sent.
bool Call::send_one() {
  bool is_sent = false;
  if (auto thrown = catch_as_failure([&] { is_sent = try_send(); }, "the sending of a batch")) {
    fail(*std::move(thrown));
  }
  return is_sent;
}

bool Call::try_send() {
  const auto sending = std::make_shared<Sending>();
  Batch batch = take(options_.batch_size ? *options_.batch_size : backend_->compute_batch_size());
  if (batch.empty() || has_failed()) {
    return false;
  }
  for (const Task& task : batch) {
    for (const Value& argument : task.arguments) {
      collect(argument, sending->inputs);
    }
  }
  sending->size = batch.size();
  sending->at = os_.now();
  {
    const os::MonitorLock held(*monitor_);
    sending->first = results_.size();
    results_.resize(results_.size() + sending->size);
    ++on_their_way_;
    ++unfinished_;
    for (const auto& [identity, array] : sending->inputs) {
      ++uses_[identity];
      idle_.erase(identity);
    }
  }
  const auto callback = [self = std::static_pointer_cast<Call>(shared_from_this()),
                         sending](BatchOutcome& outcome) { self->complete(*sending, outcome); };
  const auto sent = backend_->apply_inline(std::move(batch), callback);
  if (!sent) {
    fail(sent.error());
  }
  return sent.has_value();
}

/// Tasks for one batch. If few are left, they are divided among all jobs.
Batch Call::take(std::size_t size) {
  const bool may_choose = !options_.batch_size;
  const std::size_t enough = may_choose ? size * n_jobs_ : size;
  while (!is_at_end_ && waiting_.size() < enough) {
    if (std::optional<Task> task = ask_source()) {
      waiting_.push_back(*std::move(task));
    } else {
      is_at_end_ = true;
    }
  }
  if (may_choose && waiting_.size() < enough) {
    size = std::min(size, (waiting_.size() + n_jobs_ - 1) / n_jobs_);
  }
  Batch batch;
  batch.reserve(std::min(size, waiting_.size()));
  while (batch.size() < size && !waiting_.empty()) {
    batch.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  {
    const os::MonitorLock held(*monitor_);
    is_exhausted_ = is_at_end_ && waiting_.empty();
  }
  release_idle();
  return batch;
}

std::optional<Task> Call::ask_source() {
  Outcome<std::optional<Task>> task = next_task(source_);
  if (!task) {
    fail(std::move(task).error());
    return std::nullopt;
  }
  return *std::move(task);
}

/// Releases inputs only when no more tasks come: until then, another task might use them.
void Call::release_idle() {
  Identities idle;
  {
    const os::MonitorLock held(*monitor_);
    if (!is_exhausted_) {
      return;
    }
    idle.swap(idle_);
  }
  for (const Array::Identity& input : idle) {
    backend_->release_input(input);
  }
}

/// Runs in the thread that calls back.
void Call::complete(Sending& sending, BatchOutcome& outcome) {
  if (auto thrown =
          catch_as_failure([&] { take_results(sending, outcome); }, "the results of a batch")) {
    fail(*std::move(thrown));
  }
  if (is_wanted()) {
    go_on();
    const os::MonitorLock held(*monitor_);
    end_batch();
  }
}

/// The call may return only now, because nothing uses it after this.
void Call::end_batch() {
  --unfinished_;
  notify();
}

/// Whether the thread that has called back has more to do than to end the batch. If not, ends it.
bool Call::is_wanted() {
  const os::MonitorLock held(*monitor_);
  wants_dispatch_ = true;
  if (is_to_send() || (has_progress_to_report() && !caller_waits_)) {
    // The caller reports if it has nothing else to do: sending is more urgent here.
    notify();
    return true;
  }
  end_batch();
  return false;
}

void Call::take_results(Sending& sending, BatchOutcome& outcome) {
  if (!outcome) {
    fail(outcome.error());
  }
  const os::Instant now = os_.now();
  backend_->batch_completed(sending.size, now - sending.at);
  std::vector<Array::Identity> unused;
  {
    const os::MonitorLock held(*monitor_);
    --on_their_way_;
    if (outcome && !is_over_) {
      std::ranges::move(*outcome, results_.begin() + static_cast<std::ptrdiff_t>(sending.first));
    }
    for (const auto& [identity, array] : sending.inputs) {
      const auto use = uses_.find(identity);
      if (--use->second == 0) {
        uses_.erase(use);
        unused.push_back(identity);
      }
    }
    if (outcome && reports_progress_ && !is_over_) {
      pending_progress_.push_back({.size = sending.size, .at = now});
    }
  }
  sending.inputs.clear();
  {
    const os::MonitorLock held(*monitor_);
    for (const Array::Identity& input : unused) {
      // An array without other owners is destroyed now; one that was sent again meanwhile has a
      // use.
      if (!input.expired() && !uses_.contains(input)) {
        idle_.insert(input);
      }
    }
  }
  release_idle();
}

/// Sends and reports after a batch, which may take as long as your code takes. If this thread
/// cannot do it now, the caller or `resume` does it: the caller may be in your code that waits
/// for it.
void Call::go_on() {
  bool is_free = false;
  if (auto thrown = catch_as_failure(
          [&] { is_free = backend_->yield_io_thread(reports_progress_, *this); }, "a call")) {
    fail(*std::move(thrown));
  }
  if (!is_free) {
    const os::MonitorLock held(*monitor_);
    caller_goes_on_ = true;
    notify();
    return;
  }
  report_progress();
  dispatch();
}

void Call::resume() {
  {
    const os::MonitorLock held(*monitor_);
    if (caller_waits_ || !(is_to_send() || has_progress_to_report())) {
      return;  // A waiting caller is notified, now or later.
    }
  }
  go_on();
}

/// Reports all finished batches, unless a thread does that already.
void Call::report_progress() {
  if (!reports_progress_) {
    return;
  }
  {
    const os::MonitorLock held(*monitor_);
    if (pending_progress_.empty() || std::exchange(is_reporting_, true)) {
      return;
    }
  }
  CallProgress progress;
  while (next_progress(progress)) {
    if (auto thrown = catch_as_failure(
            [&] {
              if (options_.progress) {
                options_.progress(progress);
              }
            },
            "the progress of a call")) {
      fail(*std::move(thrown));
    }
    // The interval doubles each time, so that a long call reports little.
    if (options_.verbose > 0 && progress.completed >= next_report_at_) {
      next_report_at_ = 2 * progress.completed;
      os::report_quietly(os_, [&] {
        return "lastref: " + std::to_string(progress.completed) + " tasks are done";
      });
    }
  }
}

/// False if there is nothing to report: then no thread reports any more.
bool Call::next_progress(CallProgress& progress) {
  const os::MonitorLock held(*monitor_);
  if (failure_ || is_over_) {
    pending_progress_.clear();
  }
  if (pending_progress_.empty()) {
    is_reporting_ = false;
    notify();
    return false;
  }
  completed_ += pending_progress_.front().size;
  progress = {.dispatched = results_.size(),
              .completed = completed_,
              .elapsed = pending_progress_.front().at - begun_};
  pending_progress_.pop_front();
  return true;
}

void Call::collect(const Value& value, Inputs& inputs) {
  if (const auto* array = value.get_if<Array>()) {
    inputs.try_emplace(array->identity(), *array);
  } else if (const auto* list = value.get_if<List>()) {
    for (const Value& each : *list) {
      collect(each, inputs);
    }
  } else if (const auto* map = value.get_if<Map>()) {
    for (const auto& [key, each] : *map) {
      collect(each, inputs);
    }
  }
}

}  // namespace lastref::backends
