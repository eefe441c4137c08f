#include "impl/backends/call.hpp"

#include <algorithm>
#include <utility>

#include "impl/backends/exceptions.hpp"
#include "impl/backends/pool_future.hpp"
#include "impl/os/limits.hpp"

namespace lastref::backends {

Call::Call(Parts parts)
    : os_(parts.os),
      backend_(std::move(parts.backend)),
      options_(parts.options),
      n_jobs_(parts.n_jobs),
      source_(parts.source),
      may_send_back_(parts.is_source_ours || !backend_->calls_back_inline()),
      reports_progress_(options_.progress || options_.verbose > 0),
      monitor_(os_.make_monitor()),
      begun_(os_.now()) {}

Outcome<List> Call::run() {
  std::unique_ptr<os::Thread> reporter;
  if (reports_progress_) {
    auto started = os_.start_thread([this] { report_progress(); }, os::ThreadKind::users);
    if (!started) {
      return failed(std::move(started).error());
    }
    reporter = *std::move(started);
  }
  while (wait()) {
    send(/*is_caller=*/true);
  }
  end_reporting(std::move(reporter));
  const os::MonitorLock held(*monitor_);
  if (failure_) {
    return tl::unexpected<TaskFailure>(*std::move(failure_));
  }
  return std::move(results_);
}

/// Waits until a batch is to be sent. False: the call is over.
bool Call::wait() {
  const os::MonitorLock held(*monitor_);
  caller_waits_ = true;
  while (!may_end() && !is_caller_wanted()) {
    monitor_->wait();
  }
  caller_waits_ = false;
  is_over_ = may_end();
  return !is_over_;
}

/// A failure of the last report is one of the call.
void Call::end_reporting(std::unique_ptr<os::Thread> reporter) {
  if (reporter) {
    {
      const os::MonitorLock held(*monitor_);
      monitor_->notify_all();
    }
    reporter->join();
  }
}

void Call::fail(TaskFailure failure) {
  const os::MonitorLock held(*monitor_);
  if (!failure_) {
    failure_ = std::move(failure);
  }
  notify();
}

void Call::abort() {
  fail(error_about(std::errc::operation_canceled, "the call was aborted"));
  backend_->cancel();
}

bool Call::may_end() const {
  return !is_sending_ && (failure_ || (is_exhausted_ && on_their_way_ == 0));
}

bool Call::has_space() const {
  return !failure_ && !is_over_ && !is_exhausted_ &&
         (!options_.pre_dispatch || on_their_way_ / n_jobs_ < *options_.pre_dispatch);
}

bool Call::is_caller_wanted() const {
  return has_space() && !is_sending_;
}

void Call::notify() {
  if (caller_waits_ && (may_end() || is_caller_wanted())) {
    monitor_->notify_all();
  }
}

bool Call::has_failed() const {
  const os::MonitorLock held(*monitor_);
  return failure_.has_value();
}

/// Sends batches while there is space. One thread at a time does this, for all threads.
void Call::send(bool is_caller) {
  {
    const os::MonitorLock held(*monitor_);
    if (std::exchange(is_sending_, true)) {
      return;  // The other thread sees the space.
    }
  }
  bool goes_on = true;
  while (goes_on && still_has_space()) {
    if (auto thrown =
            catch_as_failure([&] { goes_on = send_one(is_caller); }, "the sending of a batch")) {
      fail(*std::move(thrown));
    }
  }
  if (!goes_on) {
    const os::MonitorLock held(*monitor_);
    is_sending_ = false;
    notify();
  }
}

/// If not, no thread sends any more.
bool Call::still_has_space() {
  const os::MonitorLock held(*monitor_);
  is_sending_ = has_space();
  notify();
  return is_sending_;
}

/// False if the caller has to send it.
bool Call::send_one(bool is_caller) {
  const auto sending = std::make_shared<Sending>();
  std::size_t size = options_.batch_size ? *options_.batch_size : backend_->compute_batch_size();
  size = prepare(size);
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(size);
  if (!is_caller && backend_->calls_back_inline() &&
      !std::all_of(waiting_.begin(), end, [&](const Task& task) { return is_brief(task); })) {
    return false;
  }
  Batch batch = take(size);
  if (batch.empty() || has_failed()) {
    return true;
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
    for (const auto& [identity, array] : sending->inputs) {
      ++uses_[identity];
      idle_.erase(identity);
    }
  }
  const auto callback = [self = shared_from_this(), sending](BatchOutcome& outcome) {
    self->complete(*sending, outcome);
  };
  const auto sent = backend_->apply_inline(std::move(batch), callback);
  if (!sent) {
    fail(sent.error());
  }
  return true;
}

/// The tasks of the next batch wait then. If few are left, they are divided among all jobs.
std::size_t Call::prepare(std::size_t size) {
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
  return std::min(size, waiting_.size());
}

Batch Call::take(std::size_t size) {
  Batch batch;
  batch.reserve(size);
  while (batch.size() < size) {
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

/// Whether sending it takes no longer than reading a result.
bool Call::is_brief(const Task& task) const {
  const std::size_t size_max = os::limits_of(os_).instant_result;
  return std::ranges::all_of(task.arguments, [&](const Value& argument) {
    const auto* bytes = argument.get_if<ByteString>();
    const auto* text = argument.get_if<std::string>();
    return !argument.get_if<Array>() && !argument.get_if<List>() && !argument.get_if<Map>() &&
           (bytes == nullptr || bytes->size() <= size_max) &&
           (text == nullptr || text->size() <= size_max);
  });
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
  bool is_to_send = false;
  {
    const os::MonitorLock held(*monitor_);
    --on_their_way_;
    is_to_send = may_send_back_ && is_caller_wanted();
    if (!is_to_send) {
      notify();
    }
  }
  if (is_to_send) {
    send(/*is_caller=*/false);
  }
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
      monitor_->notify_all();
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

/// Runs in a thread of its own until the call is over.
void Call::report_progress() {
  std::size_t next_report_at = 1;
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
    if (options_.verbose > 0 && progress.completed >= next_report_at) {
      next_report_at = 2 * progress.completed;
      os::report_quietly(os_, [&] {
        return "lastref: " + std::to_string(progress.completed) + " tasks are done";
      });
    }
  }
}

/// Waits for a finished batch. False: there will be none.
bool Call::next_progress(CallProgress& progress) {
  const os::MonitorLock held(*monitor_);
  while (!failure_ && pending_progress_.empty() && !is_over_) {
    monitor_->wait();
  }
  if (failure_ || pending_progress_.empty()) {
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
