#include "impl/backends/job.hpp"

#include <utility>

namespace lastref::backends {
namespace {

/// bytes; turning them into values takes no longer than reading them.
constexpr std::size_t little = std::size_t{64} << 10U;

}  // namespace

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

bool JobsHome::is_telling(os::Pid thread) const {
  const os::MonitorLock held(*monitor);
  const Job* job = telling;
  while (job != nullptr && job->telling_thread_ != thread) {
    job = job->next_telling_;
  }
  return job != nullptr;
}

void JobsHome::wait_for_tellers() const {
  const os::MonitorLock held(*monitor);
  while (telling != nullptr) {
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
    tell();
    const os::MonitorLock held(*home_->monitor);
    if (state_ == State::waiting || state_ == State::telling) {
      home_->monitor->wait();
    }
    if (state_ == State::told) {
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
  telling_thread_ = thread;
  next_telling_ = std::exchange(home_->telling, this);
  state_ = State::telling;
  return true;
}

void Job::tell() {
  if (!claim()) {
    return;
  }
  BatchOutcome outcome;
  if (auto thrown = thrown_by([&] { outcome = outcome_of(reply_); }, "results")) {
    outcome = tl::unexpected<Failure>(*std::move(thrown));
  }
  reply_ = Failure();
  call_back(std::exchange(callback_, nullptr), outcome);
  const os::MonitorLock held(*home_->monitor);
  outcome_ = std::move(outcome);
  state_ = State::told;
  Job** link = &home_->telling;
  while (*link != this) {
    link = &(*link)->next_telling_;
  }
  *link = next_telling_;
  home_->monitor->notify_all();
}

BatchOutcome Job::outcome_of(const Reply& reply) const {
  if (const auto* failure = std::get_if<Failure>(&reply)) {
    return tl::unexpected<Failure>(*failure);
  }
  const Answer& answer = std::get<Answer>(reply);
  if (answer.kind == Kind::results) {
    Result<List> results = decode_results(answer.body, home_->rebuild);
    return results ? BatchOutcome(*std::move(results)) : failed(std::move(results).error());
  }
  Result<Failure> failure = decode_failure(answer.body);
  return tl::unexpected<Failure>(failure ? *std::move(failure) : Failure(failure.error()));
}

bool Job::is_told_at_once(const Reply& reply) const {
  const Answer* answer = std::get_if<Answer>(&reply);
  return is_brief_ && (answer == nullptr || answer->kind == Kind::failed ||
                       (answer->body.size() <= little && !has_arrays(answer->body)));
}

}  // namespace lastref::backends
