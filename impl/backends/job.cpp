#include "impl/backends/job.hpp"

#include <utility>

#include "impl/os/limits.hpp"

namespace lastref::backends {
TasksOfBatch tasks_of(const Batch& batch) {
  if (batch.empty()) {
    return {};
  }
  const std::string& first = batch.front().function;
  return {.first = first,
          .count = batch.size(),
          .are_alike =
              std::ranges::all_of(batch, [&](const Task& task) { return task.function == first; })};
}

std::string describe(const TasksOfBatch& tasks) {
  if (tasks.count <= 1) {
    return tasks.first;
  }
  return "one of " + std::to_string(tasks.count) + " tasks, " + tasks.first +
         (tasks.are_alike ? "" : " and others");
}

bool JobsHome::is_calling_back(os::Pid thread) const {
  const os::MonitorLock held(*monitor);
  const Job* job = calling_back;
  while (job != nullptr && job->callback_thread_ != thread) {
    job = job->next_calling_back_;
  }
  return job != nullptr;
}

void JobsHome::wait_for_callbacks() const {
  const os::MonitorLock held(*monitor);
  while (calling_back != nullptr) {
    monitor->wait();
  }
}

/// In a forked child, where the monitor may be locked permanently.
const BatchOutcome& Job::outcome_in_child() {
  return outcome_ ? *outcome_ : outcome_.emplace(failed(not_ours()));
}

const BatchOutcome& Job::get() {
  if (!home_->is_ours()) {
    return outcome_in_child();
  }
  for (;;) {
    run_callback();
    const os::MonitorLock held(*home_->monitor);
    if (state_ == State::waiting || state_ == State::calling_back) {
      home_->monitor->wait();
    }
    if (state_ == State::done) {
      return *outcome_;
    }
  }
}

bool Job::is_ready() const {
  if (!home_->is_ours()) {
    return true;
  }
  const os::MonitorLock held(*home_->monitor);
  return state_ != State::waiting;
}

void Job::arrive(Reply reply) {
  const os::MonitorLock held(*home_->monitor);
  reply_ = std::move(reply);
  state_ = State::arrived;
  home_->monitor->notify_all();
}

bool Job::claim() {
  const os::Pid thread = home_->os.thread_id();
  const os::MonitorLock held(*home_->monitor);
  if (state_ != State::arrived) {
    return false;
  }
  callback_thread_ = thread;
  next_calling_back_ = std::exchange(home_->calling_back, this);
  state_ = State::calling_back;
  return true;
}

void Job::run_callback() {
  if (!claim()) {
    return;
  }
  BatchOutcome outcome;
  if (auto thrown = catch_as_failure([&] { outcome = outcome_of(reply_); }, "results")) {
    outcome = tl::unexpected<TaskFailure>(*std::move(thrown));
  }
  reply_ = TaskFailure();
  call_back(std::exchange(callback_, nullptr), outcome);
  const os::MonitorLock held(*home_->monitor);
  outcome_ = std::move(outcome);
  state_ = State::done;
  Job** link = &home_->calling_back;
  while (*link != this) {
    link = &(*link)->next_calling_back_;
  }
  *link = next_calling_back_;
  home_->monitor->notify_all();
}

BatchOutcome Job::outcome_of(const Reply& reply) const {
  if (const auto* failure = std::get_if<TaskFailure>(&reply)) {
    return tl::unexpected<TaskFailure>(*failure);
  }
  const Answer& answer = std::get<Answer>(reply);
  if (answer.kind == MessageKind::results) {
    Result<List> results = decode_results(answer.body, home_->rebuild);
    return results ? BatchOutcome(*std::move(results)) : failed(std::move(results).error());
  }
  Result<TaskFailure> failure = decode_failure(answer.body);
  return tl::unexpected<TaskFailure>(failure ? *std::move(failure) : TaskFailure(failure.error()));
}

/// Turning a small result into values takes no longer than reading it.
bool Job::is_instant(const Reply& reply) const {
  const Answer* answer = std::get_if<Answer>(&reply);
  return callback_is_nonblocking_ &&
         (answer == nullptr || answer->kind == MessageKind::failed ||
          (answer->body.size() <= os::limits_of(home_->os).instant_result &&
           !has_arrays(answer->body)));
}

}  // namespace lastref::backends
