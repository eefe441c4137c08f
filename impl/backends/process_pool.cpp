#include "impl/backends/process_pool.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace lastref::backends {
namespace {

constexpr int poll_failures_max = 10;
constexpr int own_pipe_tries = 3;
/// What is shorter is not worth a journey of its own between a result and the next job.
constexpr std::chrono::milliseconds brief{1};
/// Jobs that a worker has at a time, if they are brief. Others wait for whoever is free first.
constexpr std::size_t brief_at_a_time = 16;
constexpr std::size_t fds_of_worker = 3;

}  // namespace

ProcessPool::ProcessPool(Parts parts, Crew crew)
    : parts_(std::move(parts)),
      os_(*parts_.session.os),
      futures_monitor_(os_.make_monitor()),
      monitor_(os_.make_monitor()),
      crew_(std::move(crew)) {}

Result<std::shared_ptr<ProcessPool>> ProcessPool::start(Parts parts, unsigned workers) {
  LASTREF_TRY(crew, Crew::start(parts.session, workers));
  std::shared_ptr<ProcessPool> pool(new ProcessPool(std::move(parts), std::move(crew)));
  LASTREF_CHECK(pool->make_wake_pipe());
  LASTREF_TRY(thread, pool->os_.start_thread([raw = pool.get()] { raw->run(); }));
  pool->thread_ = std::move(thread);
  return pool;
}

Status ProcessPool::make_wake_pipe() {
  LASTREF_TRY(ends, os_.make_pipe());
  wake_read_ = os::UniqueFd(os_, ends.read);
  wake_write_ = os::UniqueFd(os_, ends.write);
  return ok();
}

Outcome<FuturePtr> ProcessPool::submit(Batch batch, Callback callback) {
  Outcome<FuturePtr> sent = send(batch, std::move(callback));
  batch.clear();
  parts_.release_gone();  // It may be over already, and its arrays were not gone then.
  return sent;
}

Outcome<FuturePtr> ProcessPool::send(const Batch& batch, Callback callback) {
  Result<Encoded> encoded = encode(batch, parts_.reduce);
  if (!encoded) {
    return failed(std::move(encoded).error());
  }
  const auto job = std::make_shared<Job>(futures_monitor_, std::move(callback));
  job->batch = std::move(encoded->bytes);
  job->sent = std::move(encoded->sent);
  const os::Held held(*monitor_);
  if (ending_) {
    return tl::unexpected<Failure>(canceled().error());
  }
  if (broken_) {
    return tl::unexpected<Failure>(*broken_);
  }
  job->number = next_number_++;
  queue_.push_back(job);
  hand_out();
  if (std::ranges::any_of(crew_.workers(),
                          [](const auto& worker) { return !worker->jobs.is_empty(); })) {
    wake();  // The thread has to wait for room.
  }
  return job;
}

bool ProcessPool::is_mine(os::Pid thread) const {
  const os::Held held(*monitor_);
  return thread == thread_id_;
}

bool ProcessPool::is_broken() const {
  const os::Held held(*monitor_);
  return broken_.has_value();
}

/// To whoever has least to do, as long as somebody is free.
void ProcessPool::hand_out() {
  while (!queue_.empty()) {
    WorkerProcess* free = nullptr;
    for (const auto& worker : crew_.workers()) {
      const std::size_t room = worker->is_brief ? brief_at_a_time : 1;
      if (worker->in_flight.size() < room && !worker->is_lost &&
          (free == nullptr || worker->in_flight.size() < free->in_flight.size())) {
        free = worker.get();
      }
    }
    if (free == nullptr) {
      return;
    }
    give(*free, queue_.front());
    queue_.pop_front();
  }
}

void ProcessPool::give(WorkerProcess& worker, const JobPtr& job) {
  os::Packed number;
  os::put(number, job->number);
  worker.in_flight.push_back(job);
  worker.jobs.post(Kind::job, number, std::move(job->batch));
  flush(worker);
}

void ProcessPool::flush(WorkerProcess& worker) {
  const Status flushed = worker.jobs.flush();
  if (flushed) {
    return;
  }
  // Who reads no more is dead, and how it died says more; or it never will read again.
  if (flushed.error().code != std::errc::broken_pipe) {
    worker.trouble = flushed.error();
  }
  lose(worker);
}

/// It is given nothing more, and will be heard to die.
void ProcessPool::lose(WorkerProcess& worker) {
  worker.is_lost = true;
  worker.jobs.close();
  crew_.kill(worker);
}

void ProcessPool::wake() {
  constexpr std::array byte = {std::byte{1}};
  Status woken = ok();
  for (int tries = 0; tries < own_pipe_tries; ++tries) {
    const auto written = os::retry_interrupted([&] { return os_.write(wake_write_.get(), byte); });
    // A full pipe wakes as well.
    if (written || written.error().code == std::errc::resource_unavailable_try_again) {
      return;
    }
    woken = tl::unexpected<Error>(written.error());
  }
  os::report_quietly(os_, "lastref: a pool ends, for " + describe(woken.error()));
  crew_.kill_all();  // A death is heard in any case.
}

std::vector<ProcessPool::JobPtr> ProcessPool::take_all_jobs() {
  std::vector<JobPtr> jobs;
  for (const auto& worker : crew_.workers()) {
    std::ranges::move(worker->in_flight, std::back_inserter(jobs));
    worker->in_flight.clear();
  }
  std::ranges::move(queue_, std::back_inserter(jobs));
  queue_.clear();
  std::ranges::sort(jobs, {}, &Job::number);
  return jobs;
}

void ProcessPool::end() {
  {
    const os::Held held(*monitor_);
    if (!ending_) {
      ending_ = true;
      monitor_->notify_all();
      if (thread_ && !broken_) {
        wake();
      }
    }
  }
  if (thread_) {
    thread_->join();
    thread_.reset();
  }
}

void ProcessPool::run() {
  {
    const os::Held held(*monitor_);
    thread_id_ = os_.thread_id();
  }
  std::vector<os::PollItem> items;
  while (wait(items)) {
    act(items);
  }
  break_down(canceled().error());
}

/// False when it is time to go. Items are the wake pipe and three for each worker.
bool ProcessPool::wait(std::vector<os::PollItem>& items) {
  items.clear();
  {
    const os::Held held(*monitor_);
    while (broken_ && !ending_) {
      monitor_->wait();  // Nobody is left to be heard.
    }
    if (ending_) {
      return false;
    }
    items.push_back({.fd = wake_read_.get(), .want_read = true});
    for (const auto& worker : crew_.workers()) {
      items.push_back({.fd = worker->process.get(), .want_read = true});
      items.push_back({.fd = worker->results.at_end() ? os::Fd::none : worker->results.fd(),
                       .want_read = true});
      items.push_back(
          {.fd = worker->jobs.is_empty() ? os::Fd::none : worker->jobs.fd(), .want_write = true});
    }
  }
  const auto ready = os_.poll(items, std::nullopt);
  if (ready) {
    poll_failures_ = 0;
    return true;
  }
  items.clear();
  if (ready.error().code != std::errc::interrupted && ++poll_failures_ == poll_failures_max) {
    break_down(ready.error());
  }
  return true;
}

void ProcessPool::act(const std::vector<os::PollItem>& items) {
  if (!items.empty() && items.front().readable && !drain()) {
    return;
  }
  // Whoever dies takes the others along: no worker is looked at after that.
  for (std::size_t at = 1; at + fds_of_worker <= items.size(); at += fds_of_worker) {
    WorkerProcess& worker = *crew_.workers()[(at - 1) / fds_of_worker];
    if (items[at + 1].readable || items[at + 1].hung_up) {
      hear(worker);
    }
    if (items[at + 2].writable || items[at + 2].hung_up) {
      const os::Held held(*monitor_);
      flush(worker);
    }
    if (items[at].readable && bury(worker)) {
      return;
    }
  }
}

/// Empties the wake pipe. False if it cannot be read: it would wake us for ever.
bool ProcessPool::drain() {
  std::array<std::byte, 64> drained{};
  Status read = ok();
  for (int tries = 0; tries < own_pipe_tries; ++tries) {
    const auto got = os_.read(wake_read_.get(), drained);
    if (got || got.error().code == std::errc::resource_unavailable_try_again) {
      return true;
    }
    read = tl::unexpected<Error>(got.error());
  }
  os::report_quietly(os_, "lastref: a pool ends, for " + describe(read.error()));
  break_down(read.error());
  return false;
}

/// Takes what the worker has said.
void ProcessPool::hear(WorkerProcess& worker) {
  if (const Status filled = worker.results.fill(); !filled) {
    distrust(worker, filled.error());
    return;
  }
  for (;;) {
    const auto message = worker.results.next();
    if (!message) {
      distrust(worker, message.error());
      return;
    }
    if (!*message) {
      break;
    }
    if (!obey(worker, **message)) {
      return;  // What it said behind that is not to be believed either.
    }
  }
  if (worker.results.at_end()) {
    // It will never say anything again, whether it is dead already or has closed its pipe.
    const os::Held held(*monitor_);
    lose(worker);
  }
}

/// False if the worker is not trusted any more.
bool ProcessPool::obey(WorkerProcess& worker, const Message& message) {
  os::Unpacker unpacker(message.body);
  const auto number = unpacker.number<std::uint64_t>();
  const auto busy = unpacker.number<std::int64_t>();
  const bool is_answer = !unpacker.failed() && message.kind != Kind::job;
  // A job that is taken from the worker has to be finished here.
  const JobPtr job = is_answer ? take_job(worker, number, busy) : nullptr;
  if (!job) {
    distrust(worker,
             {.code = std::errc::bad_message, .subject = "a worker answers what was not asked"});
    return false;
  }
  const os::Bytes body = message.body.subspan(sizeof number + sizeof busy);
  if (message.kind == Kind::results) {
    Result<List> results = decode_results(body, parts_.rebuild);
    finish(job, results ? BatchOutcome(*std::move(results)) : failed(std::move(results).error()));
    return true;
  }
  Result<Failure> failure = decode_failure(body);
  finish(job, tl::unexpected<Failure>(failure ? *std::move(failure) : Failure(failure.error())));
  return true;
}

/// The job that the worker has done, after it was given another. None if that is not its number.
ProcessPool::JobPtr ProcessPool::take_job(WorkerProcess& worker,
                                          std::uint64_t number,
                                          std::int64_t busy) {
  const os::Held held(*monitor_);
  if (worker.in_flight.empty() || worker.in_flight.front()->number != number) {
    return nullptr;
  }
  JobPtr job = std::move(worker.in_flight.front());
  worker.in_flight.pop_front();
  worker.is_brief = std::chrono::nanoseconds(busy) < brief;
  hand_out();
  return job;
}

void ProcessPool::distrust(WorkerProcess& worker, Error trouble) {
  const os::Held held(*monitor_);
  if (!worker.trouble) {
    worker.trouble = std::move(trouble);
  }
  worker.results.close();
  lose(worker);
}

/// The worker has died, and what it said before was heard. False if it has not.
bool ProcessPool::bury(WorkerProcess& worker) {
  bool is_dead = false;
  const auto exit = crew_.reap(worker, is_dead);
  if (!is_dead) {
    return false;
  }
  if (!worker.results.at_end()) {
    hear(worker);
  }
  Failure failure = TerminatedWorker{.pid = worker.pid, .exit = exit};
  {
    const os::Held held(*monitor_);
    if (worker.trouble) {
      failure = *worker.trouble;
    }
    // Its jobs stay among those that fail.
    std::ranges::move(worker.in_flight, std::front_inserter(queue_));
    crew_.remove(worker);
  }
  break_down(failure);
  return true;
}

/// Fails all jobs, at once, and then ends all workers.
void ProcessPool::break_down(const Failure& failure) {
  std::vector<JobPtr> jobs;
  bool kills = false;
  {
    const os::Held held(*monitor_);
    jobs = take_all_jobs();
    kills = !jobs.empty() || !ending_;
    if (!broken_) {
      broken_ = failure;
    }
    if (kills) {
      crew_.kill_all();
    }
  }
  // Until their workers are dead, the references are not let go of.
  std::vector<std::vector<Sent>> sent;
  for (const JobPtr& job : jobs) {
    sent.push_back(std::exchange(job->sent, {}));
    finish(job, tl::unexpected<Failure>(failure));
  }
  crew_.end(kills);
}

void ProcessPool::finish(const JobPtr& job, BatchOutcome outcome) {
  for (Sent& sent : job->sent) {
    static_cast<void>(sent.arrived());
  }
  job->sent.clear();
  job->finish(std::move(outcome));
  parts_.release_gone();
}

}  // namespace lastref::backends
