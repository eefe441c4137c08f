#include "impl/backends/process_pool.hpp"

#include <algorithm>
#include <array>
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
    for (IoThread& io_thread : pool->io_threads_) {
      io_thread.items.reserve(1 + items_of_worker * workers);
    }
    for (std::size_t at = 0; at < pool->io_threads_.size(); ++at) {
      LASTREF_CHECK(pool->start_io_thread(at));
    }
    return pool;
  });
}

Status ProcessPool::start_io_thread(std::size_t at) {
  LASTREF_TRY(ends, os_.make_pipe());
  os::UniqueFd read(os_, ends.read);
  os::UniqueFd write(os_, ends.write);
  // The first listener checks both when a worker dies.
  const os::MonitorLock held(*monitor_);
  IoThread& io_thread = io_threads_[at];
  io_thread.wake_read = std::move(read);
  io_thread.wake_write = std::move(write);
  LASTREF_TRY(thread, os_.start_thread([this, at] { run(at); }, os::ThreadKind::users));
  io_thread.thread = std::move(thread);
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
  // The leader has to wait for space, or shorter for a death; or no thread listens.
  if (is_busy() ||
      (io_threads_[leader_].is_away && (!queue_.empty() || !callback_is_nonblocking))) {
    wake_server();
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
    if (std::ranges::any_of(io_threads_, [&](const IoThread& each) { return each.id == thread; })) {
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
    wake_server();
  }
}

bool ProcessPool::yield_io_thread(bool waits, PendingWork& work) {
  const os::Pid thread = os_.thread_id();
  const os::MonitorLock held(*monitor_);
  IoThread& leader = io_threads_[leader_];
  IoThread& other = io_threads_[1 - leader_];
  if (leader.id != thread) {
    return true;  // Another thread reads from the workers, so this one may leave.
  }
  if (ending_ || broken_ || !other.thread) {
    return false;
  }
  if (other.is_away) {
    os_.hit(Probe::catching_up_deferred);
    defer(work);
    return false;
  }
  os_.hit(Probe::io_thread_yielded);
  leader.is_away = true;
  const bool others_wait = waits || !queue_.empty() || !awaiting_callback_.empty() || is_busy() ||
                           std::ranges::any_of(group_.workers(), [](const auto& worker) {
                             return std::ranges::any_of(worker->in_flight, [](const JobPtr& job) {
                               return !job->callback_is_nonblocking();
                             });
                           });
  if (others_wait) {
    wake(other);
  } else if (other.is_idle) {
    monitor_->notify_all();
  }
  return true;
}

/// The listener that is away now runs it when it is back.
void ProcessPool::defer(PendingWork& work) {
  const std::weak_ptr<PendingWork> one = work.weak_from_this();
  const auto is_same = [&](const std::weak_ptr<PendingWork>& other) {
    return !other.owner_before(one) && !one.owner_before(other);
  };
  if (std::ranges::none_of(pending_work_, is_same)) {
    pending_work_.push_back(one);
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

void ProcessPool::wake(IoThread& io_thread) {
  if (io_thread.is_idle) {
    monitor_->notify_all();
  }
  if (std::exchange(io_thread.is_woken, true) || !io_thread.wake_write) {
    return;  // It was woken already, by a byte or by the end of its pipe.
  }
  if (const Status woken = wake_by(os_, io_thread.wake_write.get()); !woken) {
    io_thread.wake_write.close_quietly();  // The end of a pipe wakes, too.
    kill_all_for(woken.error());
  }
}

/// The listener that does not lead may wait for a death at a descriptor that is closed from here
/// on.
void ProcessPool::wake_all() {
  for (IoThread& io_thread : io_threads_) {
    if (io_thread.thread) {
      wake(io_thread);
    }
  }
}

/// A death is seen in any case. The thread that breaks a pool down ends its workers without the
/// monitor, and no other thread may use them.
void ProcessPool::kill_all_for(const Error& trouble) {
  os_.hit(Probe::pool_pipe_lost);
  os::report_quietly(os_, [&] { return "lastref: a pool ends: " + describe(trouble); });
  if (broken_) {
    return;
  }
  for (const auto& worker : group_.workers()) {
    worker->trouble = error_about(trouble.code, trouble.subject);
    worker->trouble->call = trouble.call;
  }
  group_.kill_all();
}

/// Wakes the thread that listens, or is to listen.
void ProcessPool::wake_server() {
  wake(io_threads_[io_threads_[leader_].is_away ? 1 - leader_ : leader_]);
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
    if (!ending_) {
      ending_ = true;
      monitor_->notify_all();
      for (IoThread& io_thread : io_threads_) {
        if (io_thread.thread && !broken_) {
          wake(io_thread);
        }
      }
    }
  }
  for (IoThread& io_thread : io_threads_) {
    if (io_thread.thread) {
      io_thread.thread->join();
    }
  }
  // Until here one of them may check whether there is another.
  for (IoThread& io_thread : io_threads_) {
    io_thread.thread.reset();
  }
  home_->wait_for_callbacks();
}

/// What each of the two listener threads does.
void ProcessPool::run(std::size_t at) {
  {
    const os::MonitorLock held(*monitor_);
    io_threads_[at].id = os_.thread_id();
  }
  for (;;) {
    const auto thrown = catch_as_failure([&] { serve(at); }, "the messages of a pool");
    if (!thrown) {
      return;
    }
    // Without memory there is no job that it could answer; the next pool may have some.
    static_cast<void>(catch_as_failure([&] { fail_pool(at, *thrown); }, "the end of a pool"));
  }
}

/// The pool cannot continue. Only the leader ends it; the other thread only kills the workers.
void ProcessPool::fail_pool(std::size_t at, const TaskFailure& failure) {
  {
    const os::MonitorLock held(*monitor_);
    if (!may_lead(at)) {
      const Error* error = std::get_if<Error>(&failure);
      const Error unknown;
      kill_all_for(error == nullptr ? unknown : *error);
      // There is nothing to listen for but the leader: it would fail again and again.
      io_threads_[at].has_seen = true;
      return;
    }
  }
  break_down(failure);
}

/// Runs until the thread is to leave.
void ProcessPool::serve(std::size_t at) {
  for (;;) {
    JobPtr job;
    switch (next(at, job)) {
      case Next::listen:
        listen(at);
        break;
      case Next::run_callback:
        job->run_callback();
        job.reset();
        parts_.release_gone();
        break;
      case Next::resume:
        resume();
        break;
      case Next::break_down:
        break_down(canceled_outcome().error());
        break;
      case Next::leave:
        return;
    }
  }
}

/// Waits while there is nothing to do. `job` is the one to report.
ProcessPool::Next ProcessPool::next(std::size_t at, JobPtr& job) {
  const os::MonitorLock held(*monitor_);
  IoThread& self = io_threads_[at];
  self.is_away = false;
  for (;;) {
    const bool leads = may_lead(at);
    self.has_seen = self.has_seen && !leads;
    if (leads && ((ending_ && !is_down_) || (canceled_ && !broken_))) {
      is_down_ = ending_;
      return Next::break_down;
    }
    if (may_resume(at)) {
      self.is_away = true;
      return Next::resume;
    }
    if (!awaiting_callback_.empty() && (!leads || broken_)) {
      job = std::move(awaiting_callback_.front());
      awaiting_callback_.pop_front();
      self.is_away = true;
      return Next::run_callback;
    }
    if (ending_ && is_down_) {
      return Next::leave;
    }
    if (!ending_ && !broken_ && (leads || !self.has_seen)) {
      return Next::listen;
    }
    idle(self);
  }
}

/// Takes the lead if no thread has it.
bool ProcessPool::may_lead(std::size_t at) {
  if (io_threads_[leader_].is_away && leader_ != at) {
    leader_ = at;
    os_.hit(Probe::standby_took_lead);
    is_new_leader_ = true;
  }
  return leader_ == at;
}

/// Whether a deferred call is to run, and the other listener is there to lead meanwhile.
bool ProcessPool::may_resume(std::size_t at) const {
  return !pending_work_.empty() && !io_threads_[1 - at].is_away && !ending_ && !broken_;
}

/// Runs one of them: it may take its time, and the other listener can do the next.
void ProcessPool::resume() {
  std::shared_ptr<PendingWork> work;
  {
    const os::MonitorLock held(*monitor_);
    if (!pending_work_.empty()) {
      work = pending_work_.front().lock();
      pending_work_.pop_front();
    }
  }
  if (work) {
    work->resume();
  }
}

void ProcessPool::idle(IoThread& io_thread) {
  io_thread.is_idle = true;
  monitor_->wait();
  io_thread.is_idle = false;
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
  if (broken_) {
    return;  // As in kill_all_for.
  }
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

/// The wake pipe, and three for each worker; the listener that does not lead polls only for deaths.
void ProcessPool::fill_items(IoThread& io_thread, bool leads) const {
  std::vector<os::PollItem>& items = io_thread.items;
  items.clear();
  items.push_back({.fd = io_thread.wake_read.get(), .want_read = true});
  for (const auto& worker : group_.workers()) {
    items.push_back({.fd = worker->process.get(), .want_read = true});
    if (leads) {
      items.push_back({.fd = worker->results.at_end() ? os::Fd::none : worker->results.fd(),
                       .want_read = true});
      items.push_back(
          {.fd = worker->jobs.is_empty() ? os::Fd::none : worker->jobs.fd(), .want_write = true});
    }
  }
}

void ProcessPool::listen(std::size_t at) {
  IoThread& self = io_threads_[at];
  std::vector<os::PollItem>& items = self.items;
  std::optional<std::chrono::nanoseconds> timeout;
  bool leads = false;
  bool is_new = false;
  {
    const os::MonitorLock held(*monitor_);
    if (ending_ || broken_) {
      return;
    }
    leads = leader_ == at;
    is_new = leads && std::exchange(is_new_leader_, false);
    fill_items(self, leads);
    timeout = leads ? poll_timeout() : std::nullopt;
  }
  if (is_new) {
    // A poll does not report what the other listener has already read from the pipes.
    for (const auto& worker : group_.workers()) {
      if (!read(at, *worker)) {
        return;
      }
    }
    return;
  }
  auto ready = os_.poll(items, timeout);
  if (timeout) {
    kill_overdue();
  }
  if (!ready) {
    if (ready.error().code != std::errc::interrupted &&
        ++self.poll_failures >= limits_.pool_failures) {
      fail_pool(at, std::move(ready).error());
    }
    return;
  }
  self.poll_failures = 0;
  if (items.front().readable) {
    drain(self);
  }
  if (leads) {
    act(at, items);
    return;
  }
  const os::MonitorLock held(*monitor_);
  self.has_seen =
      std::any_of(items.begin() + 1, items.end(), [](const auto& item) { return item.readable; });
}

void ProcessPool::act(std::size_t at, const std::vector<os::PollItem>& items) {
  // A death ends the other workers too: no worker is checked after that.
  for (std::size_t item = 1; item + items_of_worker <= items.size(); item += items_of_worker) {
    WorkerProcess& worker = *group_.workers()[(item - 1) / items_of_worker];
    if ((items[item + 1].readable || items[item + 1].hung_up) && !read_worker(at, worker)) {
      return;
    }
    if (items[item + 2].writable || items[item + 2].hung_up) {
      const os::MonitorLock held(*monitor_);
      flush(worker);
    }
    if (items[item].readable && reap(at, worker)) {
      return;
    }
  }
}

/// Whether it still leads after a callback.
bool ProcessPool::goes_on(std::size_t at) {
  const os::MonitorLock held(*monitor_);
  if (leader_ != at) {
    return false;
  }
  io_threads_[at].is_away = false;
  return true;
}

void ProcessPool::drain(IoThread& io_thread) {
  const Status read = backends::drain(os_, io_thread.wake_read.get());
  const os::MonitorLock held(*monitor_);
  // A thread that wakes us after the read writes nothing, but it acted before our next check.
  io_thread.is_woken = false;
  if (!read) {
    kill_all_for(read.error());
  }
}

/// Handles the messages of the worker. False if another listener leads since.
bool ProcessPool::read_worker(std::size_t at, WorkerProcess& worker) {
  if (Status filled = worker.results.fill(); !filled) {
    mark_corrupt(worker, std::move(filled).error());
    return true;
  }
  return read(at, worker);
}

bool ProcessPool::read(std::size_t at, WorkerProcess& worker) {
  for (;;) {
    auto message = worker.results.next();
    if (!message) {
      mark_corrupt(worker, std::move(message).error());
      return true;
    }
    if (!*message) {
      break;
    }
    if (!handle_message(worker, **message)) {
      return true;  // Its later messages are not to be trusted either.
    }
    if (!goes_on(at)) {
      return false;  // The other listener reads on.
    }
  }
  if (worker.results.at_end()) {
    // It will never send anything again, whether it is dead already or has closed its pipe.
    const os::MonitorLock held(*monitor_);
    give_up(worker);
  }
  return true;
}

/// False if the worker is no longer trusted.
bool ProcessPool::handle_message(WorkerProcess& worker, const Message& message) {
  if (message.kind == MessageKind::gave_up) {
    const Result<TaskFailure> why = decode_failure(message.body);
    const Error* const error = why ? std::get_if<Error>(&*why) : nullptr;
    const os::MonitorLock held(*monitor_);
    if (error != nullptr && error->code != std::errc::not_enough_memory) {
      worker.reason = lastref::describe(*error);
    } else if (error != nullptr && !worker.trouble) {
      worker.trouble = *error;
    }
    return true;  // It is about to die.
  }
  os::Unpacker unpacker(message.body);
  const auto number = unpacker.number<std::uint64_t>();
  const auto busy = unpacker.number<std::int64_t>();
  const bool is_answer = !unpacker.failed() && (message.kind == MessageKind::results ||
                                                message.kind == MessageKind::failed);
  Answer answer;
  if (is_answer) {
    const os::Bytes body = message.body.subspan(sizeof number + sizeof busy);
    answer = {.kind = message.kind, .body = {body.begin(), body.end()}};
  }
  // A job that is taken from the worker has to be finished here.
  Jobs job = is_answer ? take_job(worker, number, busy) : Jobs();
  if (job.empty()) {
    mark_corrupt(
        worker,
        error_about(std::errc::bad_message, "a worker answered for a job that it does not have"));
    return false;
  }
  finish(std::move(job), std::move(answer));
  return true;
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
  if (ending_ || broken_) {  // No job is left to fail for it.
    os::report_quietly(os_, [&] { return "lastref: a worker is killed: " + describe(trouble); });
  }
  os_.hit(Probe::worker_distrusted);
  if (!worker.trouble) {
    worker.trouble = std::move(trouble);
  }
  worker.results.close();
  retire(worker);
}

/// The worker has died, and everything that it sent before was read. False if its exit status is
/// unknown.
bool ProcessPool::reap(std::size_t at, WorkerProcess& worker) {
  // Before it is reaped: the thread that leads then has to see the death, too.
  if (!worker.results.at_end() && !read_worker(at, worker)) {
    return true;
  }
  const WorkerGroup::Reaped reaped = group_.reap(worker);
  if (!reaped.is_dead) {
    return false;
  }
  TerminatedWorker dead{.pid = worker.pid, .exit = reaped.exit, .reason = std::move(worker.reason)};
  TaskFailure failure;
  {
    const os::MonitorLock held(*monitor_);
    if (!worker.in_flight.empty()) {
      static_cast<void>(
          os::had_memory([&] { dead.task = describe(worker.in_flight.front()->tasks); }));
    }
    failure = std::move(dead);
    if (worker.trouble) {
      failure = *std::move(worker.trouble);
    }
    wake_all();
    if (!worker.in_flight.empty()) {
      os_.hit(Probe::worker_died_at_work);
    }
    // Its jobs are among those that fail.
    queue_.splice(queue_.begin(), worker.in_flight);
    group_.remove(worker);
  }
  break_down(failure);
  return true;
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
    wake_all();
    monitor_->notify_all();
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
  wake(io_threads_[1 - leader_]);
}

}  // namespace lastref::backends
