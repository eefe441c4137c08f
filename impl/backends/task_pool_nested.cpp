// The threads of a pool in a worker.
//
// They take tasks from the queue of the pool. A thread cannot be killed: a task that is cancelled
// runs to its end, and a timeout has no effect. A thread starts with the first task that no other
// one is free for.
#include <lastref/process_objects.hpp>

#include "impl/backends/pool_future.hpp"
#include "impl/backends/task_pool.hpp"
#include "impl/backends/typed_call.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::backends {
namespace {

/// Marks the calling thread as one that runs tasks of a pool in a worker.
class NestedMark {
 public:
  explicit NestedMark(os::Os& os) : os_(os), self_{.thread = os.thread_id()} {
    os::ProcessObjects& objects = os_.objects();
    const os::MonitorLock held(objects.monitor());
    self_.next = std::exchange(objects.nested_threads, &self_);
  }
  NestedMark(const NestedMark&) = delete;
  NestedMark& operator=(const NestedMark&) = delete;
  ~NestedMark() {
    os::ProcessObjects& objects = os_.objects();
    const os::MonitorLock held(objects.monitor());
    os::NestedThread** link = &objects.nested_threads;
    while (*link != &self_) {
      link = &(*link)->next;
    }
    *link = self_.next;
  }

  static bool is_here(os::Os& os) {
    os::ProcessObjects& objects = os.objects();
    const os::MonitorLock held(objects.monitor());
    const os::Pid self = os.thread_id();
    const os::NestedThread* each = objects.nested_threads;
    while (each != nullptr && each->thread != self) {
      each = each->next;
    }
    return each != nullptr;
  }

 private:
  os::Os& os_;
  os::NestedThread self_;
};

}  // namespace

/// Source          joblib _parallel_backends.py, get_nested_backend: threads in workers, and no
///                 more of them in these threads.
Status TaskPool::prepare_nested() {
  const auto threads =
      static_cast<unsigned>(NestedMark::is_here(os_) ? 1 : options_.workers.value_or(1));
  if (threads == 1) {
    functions_ = typed_functions();
    return ok();
  }
  is_nested_ = true;
  LASTREF_CHECK(prepare_thread());
  workers_ = threads;
  return ok();
}

/// Starts threads for tasks that no thread is free for.
void TaskPool::start_nested() {
  for (;;) {
    {
      const os::MonitorLock held(*monitor_);
      if (queue_.size() <= nested_idle_ || nested_.size() >= workers_) {
        return;
      }
      ++nested_idle_;
    }
    const Status started = os::within_memory("a thread", [&] { return start_nested_thread(); });
    if (!started) {
      {
        const os::MonitorLock held(*monitor_);
        --nested_idle_;
      }
      if (nested_.empty()) {
        fail_all(started.error());
      } else {
        report_fewer(started.error());
      }
      return;
    }
  }
}

Status TaskPool::start_nested_thread() {
  std::list<NestedThread> one(1);
  NestedThread& self = one.front();
  self.functions = typed_functions();
  LASTREF_TRY(thread, os_.start_thread([this, &self] { work(self); }, os::ThreadKind::users));
  self.thread = std::move(thread);
  nested_.splice(nested_.end(), one);
  return ok();
}

/// Waits for tasks that run; the others stay in the queue.
void TaskPool::end_nested() {
  for (const NestedThread& each : nested_) {
    each.thread->join();
  }
  nested_.clear();
}

void TaskPool::work(NestedThread& self) {
  const NestedMark mark(os_);
  for (;;) {
    TaskList one;
    std::vector<std::uint64_t> closed;
    {
      const os::MonitorLock held(*monitor_);
      while (queue_.empty() && self.closed.empty() && !broken_) {
        monitor_->wait();
      }
      if (broken_) {
        return;
      }
      closed.swap(self.closed);
      if (!queue_.empty()) {
        one.splice(one.end(), queue_, queue_.begin());
        --one.front().group->queued;
        --nested_idle_;
      }
    }
    forget(self, closed);
    if (!one.empty()) {
      ++one.front().attempts;
      TaskReply reply = call_in(self, one.front());
      {
        const os::MonitorLock held(*monitor_);
        ++nested_idle_;
      }
      settle(std::move(one), std::move(reply));
    }
  }
}

TaskReply TaskPool::call_in(NestedThread& self, const PooledTask& task) {
  const TaskGroup& group = *task.group;
  if (group.shared && !self.shared.contains(group.number)) {
    const auto shared = call_here(*self.functions, share_function, *group.shared);
    if (!shared) {
      return placed(task, os_.process_id(), shared.error());
    }
    // Without memory, the next task shares them again.
    static_cast<void>(os::had_memory([&] { self.shared.insert(group.number); }));
  }
  return reply_of(*self.functions, task);
}

TaskReply TaskPool::reply_of(const Functions& functions, const PooledTask& task) {
  auto outcome = call_here(functions, task.group->id, task.arguments);
  return outcome ? TaskReply(*std::move(outcome))
                 : TaskReply(placed(task, os_.process_id(), outcome.error()));
}

/// Calls a function in this thread.
Outcome<Value> TaskPool::call_here(const Functions& functions,
                                   const std::string& name,
                                   const ArgumentList& arguments) {
  Outcome<Value> outcome = failed(error_about(std::errc::not_enough_memory, "a task"));
  static_cast<void>(os::had_memory([&] {
    outcome = call_safely(functions, {.session = *session_}, {name, arguments});
  }));
  return outcome;
}

/// At worst the thread keeps the arguments until it ends.
void TaskPool::forget(NestedThread& self, const std::vector<std::uint64_t>& closed) {
  for (const std::uint64_t group : closed) {
    if (self.shared.erase(group) > 0) {
      static_cast<void>(os::had_memory([&] {
        static_cast<void>(
            call_here(*self.functions, forget_function, {Value(static_cast<std::int64_t>(group))}));
      }));
    }
  }
}

}  // namespace lastref::backends
