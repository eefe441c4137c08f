// instrumented_os_processes: processes, threads, monitors, processors, clock, entropy.
#include "harness/instrument/instrumented_os.hpp"
#include "harness/program/arena.hpp"

namespace lastref::harness {
namespace {

constexpr std::string_view process_prefix = "process:";

/// A thread that reports its end to the interceptor before the kernel knows it.
class InterceptedThread final : public os::Thread {
 public:
  InterceptedThread(Interceptor& interceptor, ActorId actor) noexcept
      : interceptor_(interceptor), actor_(actor) {}

  void is(std::unique_ptr<os::Thread> inner) noexcept { inner_ = std::move(inner); }
  void join() noexcept override {
    interceptor_.join(actor_);
    inner_->join();
  }

 private:
  Interceptor& interceptor_;
  ActorId actor_;
  std::unique_ptr<os::Thread> inner_;
};

/// A monitor in which no thread ever waits in the kernel: at most one thread of the run runs at a
/// time.
class InterceptedMonitor final : public os::Monitor {
 public:
  explicit InterceptedMonitor(Interceptor& interceptor) noexcept : interceptor_(interceptor) {}

  void lock() noexcept override {
    interceptor_.ask();
    take();
  }
  void unlock() noexcept override {
    LASTREF_ASSERT(held_);
    held_ = false;
    if (queued_ > 0) {
      interceptor_.wake(Wait::lock, this);
    }
  }
  void wait() noexcept override {
    unlock();
    interceptor_.wait_for(Wait::notice, this);
    take();
  }
  void notify_all() noexcept override { interceptor_.wake(Wait::notice, this); }

 private:
  void take() noexcept {
    while (held_) {
      ++queued_;
      interceptor_.wait_for(Wait::lock, this);
      --queued_;
    }
    held_ = true;
  }

  Interceptor& interceptor_;
  bool held_ = false;
  int queued_ = 0;
};

}  // namespace

Result<os::Child> InstrumentedOs::spawn(const os::SpawnOptions& options) noexcept {
  const Subject subject{.object = options.entry};
  return cross(Call::spawn, subject, [&](auto&, auto&) {
    auto child = inner_.spawn(options);
    if (child) {
      const std::string_view role = interceptor_.role_of(child->pid);
      names_.open(child->process,
                  names_.joined(process_prefix, role.empty() ? subject.object : role));
      if (options.end_wanted) {
        names_.is_child(child->process);
      }
    }
    return child;
  });
}

Result<os::Fd> InstrumentedOs::open_process(os::Pid pid) noexcept {
  const std::string_view role = interceptor_.role_of(pid);
  const std::string_view object = role.empty() ? "process" : names_.joined(process_prefix, role);
  return cross(Call::open_process, {.object = object}, [&](auto&, auto&) {
    auto fd = inner_.open_process(pid);
    if (fd) {
      names_.open(*fd, object);
    }
    return fd;
  });
}

Result<std::optional<os::ChildExit>> InstrumentedOs::wait_child(os::Fd process) noexcept {
  return cross(Call::wait_child, of(process), [&](auto&, auto&) {
    auto exit = inner_.wait_child(process);
    // No child has ended: it is alive. A failure means that it is not, or no longer, our child.
    if (!exit || *exit) {
      names_.is_reaped(process);
    }
    return exit;
  });
}

Status InstrumentedOs::signal_process(os::Fd process, os::Signal signal) noexcept {
  const Subject subject{.object = names_.name_of(process), .text = name_of(signal)};
  return cross(Call::signal_process, subject, [&](auto&, auto&) {
    interceptor_.signals(process, signal);
    Status sent = inner_.signal_process(process, signal);
    if (sent) {
      interceptor_.signalled(process, signal);
    }
    return sent;
  });
}

Result<std::unique_ptr<os::Thread>> InstrumentedOs::start_thread(std::function<void()> body,
                                                                 os::ThreadKind kind) noexcept {
  using Started = Result<std::unique_ptr<os::Thread>>;
  return cross(Call::start_thread, {}, [&](auto&, auto&) -> Started {
    if (!interceptor_.serialises()) {
      return inner_.start_thread(std::move(body), kind);
    }
    const ActorId actor = interceptor_.new_actor();
    auto thread = std::make_unique<InterceptedThread>(interceptor_, actor);
    auto run =
        [this, actor, given = std::move(body), is_products = AllocationScope::is_products()] {
          const AllocationScope scope(is_products);
          interceptor_.actor_begins(actor);
          given();
          interceptor_.actor_ends();
        };
    auto started = inner_.start_thread(std::move(run), kind);
    if (!started) {
      interceptor_.drop_actor(actor);
      return started;
    }
    thread->is(std::move(*started));
    interceptor_.actor_begun();
    return thread;
  });
}

unsigned InstrumentedOs::processors() noexcept {
  return cross_surely(Call::processors, {}, [&] {
    return interceptor_.serialises() ? processors_of_a_run : inner_.processors();
  });
}

os::Instant InstrumentedOs::now() noexcept {
  return cross_surely(
      Call::now, {}, [&] { return interceptor_.serialises() ? interceptor_.now() : inner_.now(); });
}

Status InstrumentedOs::entropy(os::Buffer into) noexcept {
  return cross(Call::entropy, {}, [&](auto&, auto&) {
    if (!interceptor_.serialises()) {
      return inner_.entropy(into);
    }
    interceptor_.fill(into);
    return ok();
  });
}

std::uint64_t InstrumentedOs::process_token() noexcept {
  // A random token would differ between two runs of one plan; pids identify the live processes of a
  // world.
  return interceptor_.serialises() ? static_cast<std::uint64_t>(inner_.process_id())
                                   : inner_.process_token();
}

std::unique_ptr<os::Monitor> InstrumentedOs::make_monitor() noexcept {
  if (interceptor_.serialises()) {
    return std::make_unique<InterceptedMonitor>(interceptor_);
  }
  return inner_.make_monitor();
}

std::unique_ptr<os::ExitHook> InstrumentedOs::at_exit(std::function<void()> action) noexcept {
  return exit_hooks_.add(inner_.process_token(), std::move(action));
}

os::ProcessObjects& InstrumentedOs::objects() noexcept {
  return objects_.of(*this, process_token());
}

void InstrumentedOs::run_exit_hooks() {
  exit_hooks_.run(inner_.process_token());
}

}  // namespace lastref::harness
