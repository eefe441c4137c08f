#include "impl/backends/process_pool.hpp"

#include <algorithm>
#include <utility>

#include <lastref/probe.hpp>

#include "impl/os/within_memory.hpp"

namespace lastref::backends {
namespace {

/// A shorter result is not worth a message of its own before the next job.
constexpr std::chrono::milliseconds short_job_max{1};
/// A worker that has closed its pipes is usually about to exit. Its exit status explains more than
/// a kill by us.
constexpr std::chrono::seconds exit_grace{1};

/// The same, if there is memory for it.
TaskFailure copy_of(const TaskFailure& failure) noexcept {
  TaskFailure copy = Error{.code = std::errc::not_enough_memory, .subject = {}};
  static_cast<void>(os::had_memory([&] {
    TaskFailure whole = failure;
    copy = std::move(whole);
  }));
  return copy;
}

}  // namespace

ProcessPool::ProcessPool(Parts parts, WorkerGroup group)
    : parts_(std::move(parts)),
      os_(*parts_.session.os),
      home_(std::make_shared<JobsHome>(os_, parts_.rebuild)),
      monitor_(os_.make_monitor()),
      group_(std::move(group)) {}

Result<std::shared_ptr<ProcessPool>> ProcessPool::start(Parts parts, unsigned workers) {
  return os::within_memory("a pool", [&]() -> Result<std::shared_ptr<ProcessPool>> {
    LASTREF_TRY(group, WorkerGroup::start(parts.session, workers));
    std::shared_ptr<ProcessPool> pool(new ProcessPool(std::move(parts), std::move(group)));
    pool->items_.reserve(1 + items_of_worker * workers);
    LASTREF_CHECK(pool->start_threads());
    return pool;
  });
}

Status ProcessPool::start_threads() {
  LASTREF_TRY(ends, os_.make_pipe());
  wake_read_ = os::UniqueFd(os_, ends.read);
  os::UniqueFd write(os_, ends.write);
  {
    const os::MonitorLock held(*monitor_);
    wake_write_ = std::move(write);
  }
  LASTREF_TRY(io_thread, os_.start_thread([this] { run(); }));
  io_thread_ = std::move(io_thread);
  LASTREF_TRY(callbacks, os_.start_thread([this] { call_back(); }, os::ThreadKind::users));
  callback_thread_ = std::move(callbacks);
  return ok();
}

Outcome<FuturePtr> ProcessPool::submit(Batch batch,
                                       Callback callback,
                                       bool callback_is_nonblocking) {
  return sent_within_memory([&]() -> Outcome<FuturePtr> {
    Outcome<FuturePtr> sent = send(batch, std::move(callback), callback_is_nonblocking);
    batch.clear();
    parts_.release_gone();  // The batch may be over already, and its arrays still existed then.
    return sent;
  });
}

Outcome<FuturePtr> ProcessPool::send(const Batch& batch,
                                     Callback callback,
                                     bool callback_is_nonblocking) {
  Result<Encoded> encoded = encode_batch(batch, parts_.reduce);
  if (!encoded) {
    return failed(std::move(encoded).error());
  }
  const auto job = std::make_shared<Job>(home_, std::move(callback), callback_is_nonblocking);
  os::Packed number;
  os::put(number, job->number);
  job->message = whole_message(limits_, MessageKind::job, number, std::move(encoded->bytes));
  job->sent.push_back(std::move(encoded->sent));
  job->tasks = tasks_of(batch);
  Jobs jobs(1, job);
  const os::MonitorLock held(*monitor_);
  if (ending_) {
    return tl::unexpected<TaskFailure>(canceled_outcome().error());
  }
  if (broken_) {
    return tl::unexpected<TaskFailure>(*broken_);
  }
  job->number = next_number_++;
  set_numbers(job->message, std::as_bytes(std::span(&job->number, 1)));
  queue_.splice(queue_.end(), jobs);
  hand_out();
  if (is_busy()) {
    wake();  // The I/O thread has to wait for space, or shorter for a death.
  }
  return job;
}

/// Whether a worker needs attention other than for its results.
bool ProcessPool::is_busy() const {
  return std::ranges::any_of(group_.workers(), [](const auto& worker) {
    return !worker->jobs.is_empty() || worker->pipe_closed_at;
  });
}

bool ProcessPool::is_mine(os::Pid thread) const {
  {
    const os::MonitorLock held(*monitor_);
    if (thread == io_thread_id_ || thread == callback_thread_id_) {
      return true;
    }
  }
  return home_->is_calling_back(thread);
}

void ProcessPool::cancel() {
  const os::MonitorLock held(*monitor_);
  if (!canceled_ && !broken_ && !ending_) {
    os_.hit(Probe::pool_canceled);
    canceled_ = true;
    wake();
  }
}

bool ProcessPool::is_broken() const {
  const os::MonitorLock held(*monitor_);
  return broken_.has_value();
}

/// Gives jobs to the worker with the fewest, while a worker is free. A worker has two short jobs at
/// a time: one that runs, and one that can start at once after it. Other jobs wait for the first
/// free worker, because a job that was sent is not taken back.
void ProcessPool::hand_out() {
  while (!queue_.empty()) {
    WorkerProcess* free = nullptr;
    for (const auto& worker : group_.workers()) {
      const std::size_t space = worker->runs_short_jobs ? limits_.short_jobs : 1;
      if (worker->in_flight.size() < space && !worker->is_retired &&
          (free == nullptr || worker->in_flight.size() < free->in_flight.size())) {
        free = worker.get();
      }
    }
    if (free == nullptr) {
      return;
    }
    give_next(*free);
  }
}

void ProcessPool::give_next(WorkerProcess& worker) {
  Job& job = *queue_.front();
  worker.in_flight.splice(worker.in_flight.end(), queue_, queue_.begin());
  worker.jobs.post(std::move(job.message));
  flush(worker);
}

void ProcessPool::flush(WorkerProcess& worker) {
  Status flushed = worker.jobs.flush();
  if (flushed) {
    return;
  }
  // A worker that does not read is dead, and its exit status explains more; or it will never read
  // again.
  if (flushed.error().code == std::errc::broken_pipe) {
    give_up(worker);
    return;
  }
  worker.trouble = std::move(flushed).error();
  retire(worker);
}

/// The worker has closed a pipe, and gets no more jobs. If it does not die by itself, it is killed.
void ProcessPool::give_up(WorkerProcess& worker) {
  worker.is_retired = true;
  worker.jobs.close();
  if (!worker.pipe_closed_at) {
    os_.hit(Probe::worker_closed_pipe);
    worker.pipe_closed_at = os_.now();
  }
}

/// The worker gets no more jobs, and its death will be seen.
void ProcessPool::retire(WorkerProcess& worker) {
  worker.is_retired = true;
  worker.jobs.close();
  group_.kill(worker);
}

/// Not after it is broken: then a thread uses the workers without the monitor.
void ProcessPool::wake() {
  if (std::exchange(is_woken_, true) || !wake_write_) {
    return;  // It was woken already, by a byte or by the end of its pipe.
  }
  if (const Status woken = wake_by(os_, wake_write_.get()); !woken) {
    wake_write_.close_quietly();  // The end of a pipe wakes, too.
    kill_all_for(woken.error());
  }
}

/// Their deaths end the pool.
void ProcessPool::kill_all_for(const Error& trouble) {
  os_.hit(Probe::pool_pipe_lost);
  os::report_quietly(os_, [&] { return "lastref: a pool ends: " + describe(trouble); });
  for (const auto& worker : group_.workers()) {
    worker->trouble = error_about(trouble.code, trouble.subject);
    worker->trouble->call = trouble.call;
  }
  group_.kill_all();
}

Jobs ProcessPool::take_all_jobs() {
  Jobs jobs;
  for (const auto& worker : group_.workers()) {
    jobs.splice(jobs.end(), worker->in_flight);
  }
  jobs.splice(jobs.end(), queue_);
  jobs.sort([](const JobPtr& one, const JobPtr& other) { return one->number < other->number; });
  return jobs;
}

void ProcessPool::end() {
  {
    const os::MonitorLock held(*monitor_);
    if (!std::exchange(ending_, true) && io_thread_ && !broken_) {
      wake();
    }
  }
  if (io_thread_) {
    io_thread_->join();
    io_thread_.reset();
  }
  {
    const os::MonitorLock held(*monitor_);
    is_down_ = true;
    monitor_->notify_all();
  }
  if (callback_thread_) {
    callback_thread_->join();
    callback_thread_.reset();
  }
  home_->wait_for_callbacks();
}

/// Runs callbacks that take time, until the pool is down and none is left.
void ProcessPool::call_back() {
  const os::Pid thread = os_.thread_id();
  {
    const os::MonitorLock held(*monitor_);
    callback_thread_id_ = thread;
  }
  for (;;) {
    JobPtr job;
    {
      const os::MonitorLock held(*monitor_);
      while (awaiting_callback_.empty() && !is_down_) {
        monitor_->wait();
      }
      if (awaiting_callback_.empty()) {
        return;
      }
      job = std::move(awaiting_callback_.front());
      awaiting_callback_.pop_front();
    }
    job->run_callback();
    job.reset();
    parts_.release_gone();
  }
}

/// What the I/O thread does.
void ProcessPool::run() {
  const os::Pid thread = os_.thread_id();
  {
    const os::MonitorLock held(*monitor_);
    io_thread_id_ = thread;
  }
  std::optional<TaskFailure> reason;
  const auto thrown = catch_as_failure(
      [&] {
        while (!reason) {
          reason = listen();
        }
      },
      "the messages of a pool");
  // Without memory there is no job that it could answer; the next pool may have some.
  static_cast<void>(
      catch_as_failure([&] { break_down(thrown ? *thrown : *reason); }, "the end of a pool"));
}

/// The timeout of the poll: workers that have closed their pipes have some time to die.
std::optional<std::chrono::nanoseconds> ProcessPool::poll_timeout() {
  std::optional<std::chrono::nanoseconds> least;
  for (const auto& worker : group_.workers()) {
    if (worker->pipe_closed_at && !worker->trouble) {
      const auto left =
          std::max(*worker->pipe_closed_at + exit_grace - os_.now(), os::Instant::zero());
      least = std::min(least.value_or(left), left);
    }
  }
  return least;
}

void ProcessPool::kill_overdue() {
  const os::MonitorLock held(*monitor_);
  for (const auto& worker : group_.workers()) {
    if (worker->pipe_closed_at && !worker->trouble &&
        os_.now() >= *worker->pipe_closed_at + exit_grace) {
      os_.hit(Probe::silent_worker_ended);
      worker->trouble = error_about(std::errc::broken_pipe, "");
      static_cast<void>(os::had_memory([&] {
        worker->trouble->subject =
            "worker " + std::to_string(worker->pid) + " closed its pipe, and was killed";
      }));
      group_.kill(*worker);
    }
  }
}

/// The wake pipe, and three for each worker.
void ProcessPool::fill_items() {
  items_.clear();
  items_.push_back({.fd = wake_read_.get(), .want_read = true});
  for (const auto& worker : group_.workers()) {
    items_.push_back({.fd = worker->process.get(), .want_read = true});
    items_.push_back(
        {.fd = worker->results.at_end() ? os::Fd::none : worker->results.fd(), .want_read = true});
    items_.push_back(
        {.fd = worker->jobs.is_empty() ? os::Fd::none : worker->jobs.fd(), .want_write = true});
  }
}

/// Waits for something, and acts on it. Returns why the pool is to end.
std::optional<TaskFailure> ProcessPool::listen() {
  std::optional<std::chrono::nanoseconds> timeout;
  {
    const os::MonitorLock held(*monitor_);
    if (ending_ || canceled_) {
      return canceled_outcome().error();
    }
    fill_items();
    timeout = poll_timeout();
  }
  auto ready = os_.poll(items_, timeout);
  if (timeout) {
    kill_overdue();
  }
  if (!ready) {
    const bool is_over =
        ready.error().code != std::errc::interrupted && ++poll_failures_ >= limits_.pool_failures;
    return is_over ? std::optional<TaskFailure>(std::move(ready).error()) : std::nullopt;
  }
  poll_failures_ = 0;
  if (items_.front().readable) {
    const Status drained = drain(os_, wake_read_.get());
    const os::MonitorLock held(*monitor_);
    // A thread that wakes us after the read writes nothing, but it acted before our next check.
    is_woken_ = false;
    if (!drained) {
      kill_all_for(drained.error());
    }
  }
  return act();
}

/// A death ends the other workers too: no worker is checked after that.
std::optional<TaskFailure> ProcessPool::act() {
  for (std::size_t item = 1; item + items_of_worker <= items_.size(); item += items_of_worker) {
    WorkerProcess& worker = *group_.workers()[(item - 1) / items_of_worker];
    if (items_[item + 1].readable || items_[item + 1].hung_up) {
      read_worker(worker);
    }
    if (items_[item + 2].writable || items_[item + 2].hung_up) {
      const os::MonitorLock held(*monitor_);
      flush(worker);
    }
    if (items_[item].readable) {
      if (auto death = reap(worker)) {
        return death;
      }
    }
  }
  return std::nullopt;
}

void ProcessPool::read_worker(WorkerProcess& worker) {
  Status handled = handle_messages(worker);
  if (!handled) {
    mark_corrupt(worker, std::move(handled).error());
  } else if (worker.results.at_end()) {
    // It will never send anything again, whether it is dead already or has closed its pipe.
    const os::MonitorLock held(*monitor_);
    give_up(worker);
  }
}

/// After an error, the worker's later messages are not to be trusted either.
Status ProcessPool::handle_messages(WorkerProcess& worker) {
  LASTREF_CHECK(worker.results.fill());
  for (;;) {
    LASTREF_TRY(message, worker.results.next());
    if (!message) {
      return ok();
    }
    LASTREF_CHECK(handle_message(worker, *message));
  }
}

Status ProcessPool::handle_message(WorkerProcess& worker, const Message& message) {
  if (message.kind == MessageKind::gave_up) {
    const Result<TaskFailure> why = decode_failure(message.body);
    const Error* const error = why ? std::get_if<Error>(&*why) : nullptr;
    const os::MonitorLock held(*monitor_);
    if (error != nullptr && error->code != std::errc::not_enough_memory) {
      worker.reason = lastref::describe(*error);
    } else if (error != nullptr && !worker.trouble) {
      worker.trouble = *error;
    }
    return ok();  // It is about to die.
  }
  os::Unpacker unpacker(message.body);
  const auto number = unpacker.number<std::uint64_t>();
  const auto busy = unpacker.number<std::int64_t>();
  const bool is_answer = !unpacker.failed() && (message.kind == MessageKind::results ||
                                                message.kind == MessageKind::failed);
  Answer answer;
  if (is_answer) {
    const os::Bytes body = unpacker.rest();
    answer = {.kind = message.kind, .body = {body.begin(), body.end()}};
  }
  // A job that is taken from the worker has to be finished here.
  Jobs job = is_answer ? take_job(worker, number, busy) : Jobs();
  if (job.empty()) {
    return failure(std::errc::bad_message, "a worker answered for a job that it does not have");
  }
  finish(std::move(job), std::move(answer));
  return ok();
}

/// The job that the worker has finished, after the worker got another. None if the number is wrong.
Jobs ProcessPool::take_job(WorkerProcess& worker, std::uint64_t number, std::int64_t busy) {
  Jobs job;
  const os::MonitorLock held(*monitor_);
  if (worker.in_flight.empty() || worker.in_flight.front()->number != number) {
    return job;
  }
  job.splice(job.begin(), worker.in_flight, worker.in_flight.begin());
  worker.runs_short_jobs = std::chrono::nanoseconds(busy) < short_job_max;
  hand_out();
  return job;
}

void ProcessPool::mark_corrupt(WorkerProcess& worker, Error trouble) {
  const os::MonitorLock held(*monitor_);
  if (ending_) {  // No job is left to fail for it.
    os::report_quietly(os_, [&] { return "lastref: a worker is killed: " + describe(trouble); });
  }
  os_.hit(Probe::worker_distrusted);
  if (!worker.trouble) {
    worker.trouble = std::move(trouble);
  }
  worker.results.close();
  retire(worker);
}

/// The death of a worker, when everything that it sent before was read. None if it is not dead.
std::optional<TaskFailure> ProcessPool::reap(WorkerProcess& worker) {
  if (!worker.results.at_end()) {
    read_worker(worker);
  }
  const WorkerGroup::Reaped reaped = group_.reap(worker);
  if (!reaped.is_dead) {
    return std::nullopt;
  }
  TerminatedWorker dead{.pid = worker.pid, .exit = reaped.exit, .reason = std::move(worker.reason)};
  const os::MonitorLock held(*monitor_);
  if (!worker.in_flight.empty()) {
    os_.hit(Probe::worker_died_at_work);
    static_cast<void>(
        os::had_memory([&] { dead.task = describe(worker.in_flight.front()->tasks); }));
  }
  TaskFailure failure = std::move(dead);
  if (worker.trouble) {
    failure = *std::move(worker.trouble);
  }
  // Its jobs are among those that fail.
  queue_.splice(queue_.begin(), worker.in_flight);
  group_.remove(worker);
  return failure;
}

/// Fails all jobs at once, and then ends all workers.
void ProcessPool::break_down(const TaskFailure& failure) {
  Jobs jobs;
  bool kills = false;
  {
    const os::MonitorLock held(*monitor_);
    jobs = take_all_jobs();
    kills = !jobs.empty() || !ending_;
    if (!broken_) {
      broken_ = copy_of(failure);
    }
    if (kills) {
      group_.kill_all();
    }
  }
  // The references are kept until their workers are dead.
  std::list<std::vector<Sent>> sent;
  while (!jobs.empty()) {
    Jobs job;
    job.splice(job.begin(), jobs, jobs.begin());
    sent.splice(sent.end(), job.front()->sent);
    finish(std::move(job), copy_of(failure));
  }
  group_.end(kills);
}

/// For one job.
void ProcessPool::finish(Jobs job, Reply reply) {
  Job& one = *job.front();
  for (std::vector<Sent>& all : one.sent) {
    for (Sent& sent : all) {
      static_cast<void>(sent.arrived());
    }
  }
  one.sent.clear();
  const bool is_instant = one.is_instant(reply);
  one.arrive(std::move(reply));
  if (is_instant) {
    one.run_callback();
    parts_.release_gone();
    return;
  }
  const os::MonitorLock held(*monitor_);
  awaiting_callback_.splice(awaiting_callback_.end(), job);
  monitor_->notify_all();
}

}  // namespace lastref::backends
