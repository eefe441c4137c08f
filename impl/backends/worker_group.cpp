#include "impl/backends/worker_group.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <lastref/probe.hpp>
#include <lastref/worker.hpp>

#include "impl/os/limits.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::backends {
namespace {

constexpr std::chrono::milliseconds look_again{10};

}  // namespace

Result<WorkerGroup> WorkerGroup::start(const Session& session,
                                       unsigned count,
                                       unsigned first,
                                       const WorkerStart& how) {
  os::Os& os = *session.os;
  LASTREF_TRY(tree, session.tree());
  LASTREF_TRY(self, os.open_process(os.process_id()));
  const os::UniqueFd owned(os, self);
  WorkerGroup group(os);
  group.workers_.reserve(count);
  group.items_.reserve(count);
  LASTREF_TRY(leash, os.make_pipe());
  const os::UniqueFd leash_there(os, leash.read);
  group.leash_ = os::UniqueFd(os, leash.write);
  for (unsigned number = first; number < first + count; ++number) {
    LASTREF_CHECK(group.spawn_worker(
        session, tree, {.process = self, .leash = leash_there.get()}, number, how));
  }
  return group;
}

Status WorkerGroup::spawn_worker(const Session& session,
                                 const std::string& tree,
                                 Parent parent,
                                 unsigned number,
                                 const WorkerStart& how) {
  os::Os& os = *session.os;
  LASTREF_TRY(jobs, os.make_pipe());
  os::UniqueFd jobs_there(os, jobs.read);
  Outbox jobs_here(os, os::UniqueFd(os, jobs.write));
  LASTREF_TRY(results, os.make_pipe());
  os::UniqueFd results_there(os, results.write);
  Inbox results_here(os, os::UniqueFd(os, results.read));
  auto worker = std::make_unique<WorkerProcess>();
  auto variables = how.environment;
  variables.emplace_back(worker::marker, worker::entry_point);
  std::vector<std::string> arguments = {tree, std::to_string(number)};
  arguments.insert(arguments.end(), how.arguments.begin(), how.arguments.end());
  LASTREF_TRY(child,
              os.spawn({.entry = worker::entry_point,
                        .arguments = std::move(arguments),
                        .fds = {{.here = jobs_there.get(), .number_there = worker::jobs_fd},
                                {.here = results_there.get(), .number_there = worker::results_fd},
                                {.here = parent.process, .number_there = worker::parent_fd},
                                {.here = parent.leash, .number_there = worker::leash_fd}},
                        .blocked = {os::Signal::interrupt},
                        .environment = std::move(variables)}));
  worker->pid = child.pid;
  worker->process = os::UniqueFd(os, child.process);
  worker->jobs = std::move(jobs_here);
  worker->results = std::move(results_here);
  workers_.push_back(std::move(worker));
  return ok();
}

void WorkerGroup::kill(WorkerProcess& worker) noexcept {
  // Tries again, because a worker that survives would be waited for.
  const int attempts = os::limits_of(*os_).kill_attempts;
  for (int tries = 0; tries < attempts; ++tries) {
    Status killed = os_->signal_process(worker.process.get(), os::Signal::kill);
    if (killed || killed.error().code == std::errc::no_such_process) {
      return;
    }
    os_->hit(Probe::worker_kill_tried_again);
    worker.kill_error = std::move(killed).error();
  }
}

/// The last report about a worker that does not belong to this group any more.
void WorkerGroup::report_unkillable(const WorkerProcess& worker) noexcept {
  if (worker.kill_error) {
    os::report_quietly(*os_, [&] {
      return "lastref: worker " + std::to_string(worker.pid) +
             " could not be killed: " + describe(*worker.kill_error);
    });
  }
}

void WorkerGroup::kill_all() noexcept {
  for (const auto& worker : workers_) {
    kill(*worker);
  }
}

WorkerGroup::Reaped WorkerGroup::reap(WorkerProcess& worker) noexcept {
  const auto ended = os::retry_interrupted([&] { return os_->wait_child(worker.process.get()); });
  return {.is_dead = !ended || ended->has_value(), .exit = ended ? *ended : std::nullopt};
}

void WorkerGroup::remove(const WorkerProcess& worker) noexcept {
  report_unkillable(worker);
  std::erase_if(workers_, [&](const auto& each) { return each.get() == &worker; });
}

/// Reaps the workers that die within the timeout. False when it is over, or the wait fails.
bool WorkerGroup::wait_for_deaths(std::chrono::nanoseconds timeout, int polls) noexcept {
  items_.clear();
  for (const auto& worker : workers_) {
    items_.push_back({.fd = worker->process.get(), .want_read = true});
  }
  auto ready = os::retry_interrupted([&] { return os_->poll(items_, timeout); });
  // If there is no memory for a poll at the moment, the workers are still about to exit.
  while (failed_with(ready, std::errc::not_enough_memory) && --polls > 0) {
    ready = os::retry_interrupted([&] { return os_->poll(items_, timeout); });
  }
  auto item = items_.begin();
  std::erase_if(workers_, [&](const auto& worker) {
    const bool is_told = (item++)->readable;
    const Reaped reaped = is_told || !ready ? reap(*worker) : Reaped();
    // If a dead worker could not be reaped, another thread has reaped it.
    const bool is_gone = reaped.exit || (is_told && reaped.is_dead);
    if (is_gone) {
      report_unkillable(*worker);
    }
    return is_gone;
  });
  return ready.has_value() && *ready > 0;
}

void WorkerGroup::end(bool kills) noexcept {
  const os::Limits& limits = os::limits_of(*os_);
  for (const auto& worker : workers_) {
    // A process outside the pool may have the pipe open; then the worker does not see its end. One
    // that has closed its end is about to exit.
    if (!kills && !worker->is_retired && worker->jobs.fd() != os::Fd::none) {
      // If there is no memory for the message, the worker exits at the end of the pipe.
      static_cast<void>(os::had_memory([&] {
        worker->jobs.post(MessageKind::leave, {}, {});
        const Status told = worker->jobs.flush();
        if (!told && told.error().code != std::errc::broken_pipe) {
          os::report_quietly(*os_,
                             "lastref: cannot ask a worker to exit: " + describe(told.error()));
        }
      }));
    }
    worker->jobs.close();
  }
  if (!kills) {
    const os::Instant deadline = os_->now() + leave_timeout;
    bool goes_on = true;
    while (goes_on && !workers_.empty()) {
      const os::Instant left = deadline - os_->now();
      goes_on = left > os::Instant::zero() && wait_for_deaths(left, limits.memory_polls);
    }
  }
  for (int looks = 0; !workers_.empty() && looks < limits.kill_rounds; ++looks) {
    if (!kills) {
      os_->hit(Probe::worker_overdue);
    }
    kill_all();
    wait_for_deaths(look_again, 1);
  }
  for (const auto& worker : workers_) {
    report_unkillable(*worker);
  }
  workers_.clear();
}

}  // namespace lastref::backends
