#include "impl/backends/process_pool.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <lastref/probe.hpp>

namespace lastref::backends {
namespace {

constexpr int own_pipe_tries = 3;
/// Jobs that a worker has at a time, if they are brief: one that runs, and one that is there when
/// it is done. Others wait for whoever is free first, for what was given is not taken back.
constexpr std::size_t brief_at_a_time = 2;

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
    for (Hearer& hearer : pool->hearers_) {
      hearer.items.reserve(1 + items_of_worker * workers);
    }
    for (std::size_t at = 0; at < pool->hearers_.size(); ++at) {
      LASTREF_CHECK(pool->start_hearer(at));
    }
    return pool;
  });
}

Status ProcessPool::start_hearer(std::size_t at) {
  LASTREF_TRY(ends, os_.make_pipe());
  os::UniqueFd read(os_, ends.read);
  os::UniqueFd write(os_, ends.write);
  // The first listener checks both when a worker dies.
  const os::Held held(*monitor_);
  Hearer& hearer = hearers_[at];
  hearer.wake_read = std::move(read);
  hearer.wake_write = std::move(write);
  LASTREF_TRY(thread, os_.start_thread([this, at] { run(at); }, os::ThreadKind::users));
  hearer.thread = std::move(thread);
  return ok();
}

Outcome<FuturePtr> ProcessPool::submit(Batch batch, Callback callback, bool is_brief) {
  return sent_within_memory([&]() -> Outcome<FuturePtr> {
    Outcome<FuturePtr> sent = send(batch, std::move(callback), is_brief);
    batch.clear();
    parts_.release_gone();  // The batch may be over already, and its arrays still existed then.
    return sent;
  });
}

Outcome<FuturePtr> ProcessPool::send(const Batch& batch, Callback callback, bool is_brief) {
  Result<Encoded> encoded = encode(batch, parts_.reduce);
  if (!encoded) {
    return failed(std::move(encoded).error());
  }
  const auto job = std::make_shared<Job>(home_, std::move(callback), is_brief);
  os::Packed number;
  os::put(number, job->number);
  job->message = whole_message(Kind::job, number, std::move(encoded->bytes));
  job->sent.push_back(std::move(encoded->sent));
  job->tasks = tasks_of(batch);
  Jobs jobs(1, job);
  const os::Held held(*monitor_);
  if (ending_) {
    return tl::unexpected<Failure>(canceled().error());
  }
  if (broken_) {
    return tl::unexpected<Failure>(*broken_);
  }
  job->number = next_number_++;
  set_numbers(job->message, std::as_bytes(std::span(&job->number, 1)));
  queue_.splice(queue_.end(), jobs);
  hand_out();
  // The leader has to wait for space, or shorter for a death; or no thread listens.
  if (is_busy() || (hearers_[leader_].is_away && (!queue_.empty() || !is_brief))) {
    wake_server();
  }
  return job;
}

/// Whether a worker needs attention other than for its results.
bool ProcessPool::is_busy() const {
  return std::ranges::any_of(group_.workers(), [](const auto& worker) {
    return !worker->jobs.is_empty() || worker->silent_since;
  });
}

bool ProcessPool::is_mine(os::Pid thread) const {
  {
    const os::Held held(*monitor_);
    if (std::ranges::any_of(hearers_, [&](const Hearer& each) { return each.id == thread; })) {
      return true;
    }
  }
  return home_->is_telling(thread);
}

void ProcessPool::cancel() {
  const os::Held held(*monitor_);
  if (!canceled_ && !broken_ && !ending_) {
    os_.saw(Probe::pool_canceled);
    canceled_ = true;
    wake_server();
  }
}

bool ProcessPool::step_aside(bool waits, Deferred& who) {
  const os::Pid thread = os_.thread_id();
  const os::Held held(*monitor_);
  Hearer& leader = hearers_[leader_];
  Hearer& other = hearers_[1 - leader_];
  if (leader.id != thread) {
    return true;  // Another thread listens, so this one may go.
  }
  if (ending_ || broken_ || !other.thread) {
    return false;
  }
  if (other.is_away) {
    os_.saw(Probe::catching_up_deferred);
    defer(who);
    return false;
  }
  os_.saw(Probe::hearer_stepped_aside);
  leader.is_away = true;
  const bool others_wait = waits || !queue_.empty() || !untold_.empty() || is_busy() ||
                           std::ranges::any_of(group_.workers(), [](const auto& worker) {
                             return std::ranges::any_of(worker->in_flight, [](const JobPtr& job) {
                               return !job->is_brief();
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
void ProcessPool::defer(Deferred& who) {
  const std::weak_ptr<Deferred> one = who.weak_from_this();
  const auto is_same = [&](const std::weak_ptr<Deferred>& other) {
    return !other.owner_before(one) && !one.owner_before(other);
  };
  if (std::ranges::none_of(deferred_, is_same)) {
    deferred_.push_back(one);
  }
}

bool ProcessPool::is_broken() const {
  const os::Held held(*monitor_);
  return broken_.has_value();
}

/// Gives jobs to the worker with the fewest, while a worker is free.
void ProcessPool::hand_out() {
  while (!queue_.empty()) {
    WorkerProcess* free = nullptr;
    for (const auto& worker : group_.workers()) {
      const std::size_t space = worker->is_brief ? brief_at_a_time : 1;
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
  // A worker that does not read is dead, and its exit tells more; or it will never read again.
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
  if (!worker.silent_since) {
    os_.saw(Probe::worker_closed_pipe);
    worker.silent_since = os_.now();
  }
}

/// The worker gets no more jobs, and its death will be seen.
void ProcessPool::retire(WorkerProcess& worker) {
  worker.is_retired = true;
  worker.jobs.close();
  group_.kill(worker);
}

void ProcessPool::wake(Hearer& hearer) {
  if (hearer.is_idle) {
    monitor_->notify_all();
  }
  if (std::exchange(hearer.is_woken, true) || !hearer.wake_write) {
    return;  // It was woken already, by a byte or by the end of its pipe.
  }
  constexpr std::array byte = {std::byte{1}};
  Status woken = ok();
  for (int tries = 0; tries < own_pipe_tries; ++tries) {
    const auto written =
        os::retry_interrupted([&] { return os_.write(hearer.wake_write.get(), byte); });
    // A full pipe wakes as well.
    if (written || written.error().code == std::errc::resource_unavailable_try_again) {
      return;
    }
    woken = failure(written.error());
  }
  hearer.wake_write.close_quietly();  // The end of a pipe wakes, too.
  kill_all_for(woken.error());
}

/// The listener that does not lead may wait for a death at a descriptor that is closed from here
/// on.
void ProcessPool::wake_all() {
  for (Hearer& hearer : hearers_) {
    if (hearer.thread) {
      wake(hearer);
    }
  }
}

/// A death is seen in any case. The thread that breaks a pool down ends its workers without the
/// monitor, and no other thread may use them.
void ProcessPool::kill_all_for(const Error& trouble) {
  os_.saw(Probe::pool_pipe_lost);
  os::report_quietly(os_, [&] { return "lastref: a pool ends, for " + describe(trouble); });
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
  wake(hearers_[hearers_[leader_].is_away ? 1 - leader_ : leader_]);
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
    const os::Held held(*monitor_);
    if (!ending_) {
      ending_ = true;
      monitor_->notify_all();
      for (Hearer& hearer : hearers_) {
        if (hearer.thread && !broken_) {
          wake(hearer);
        }
      }
    }
  }
  for (Hearer& hearer : hearers_) {
    if (hearer.thread) {
      hearer.thread->join();
    }
  }
  // Until here one of them may check whether there is another.
  for (Hearer& hearer : hearers_) {
    hearer.thread.reset();
  }
  home_->wait_for_tellers();
}

}  // namespace lastref::backends
