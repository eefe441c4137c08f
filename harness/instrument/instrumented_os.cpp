#include "harness/instrument/instrumented_os.hpp"

#include <atomic>

#define FIU_ENABLE 1
#include <fiu-control.h>
#include <fiu.h>

#include "harness/program/arena.hpp"

namespace lastref::harness {
namespace {

/// fiu_init is idempotent, but not safe in two threads at once.
bool fiu_ready() noexcept {
  static const bool ready = fiu_init(0) == 0;
  return ready;
}

/// Whether a point was ever enabled in this program. Before, libfiu need not be asked.
std::atomic<bool> is_any_armed = false;

/// The number that libfiu returns at a point, or 0.
int failure_of_fiu(const char* point) noexcept {
  return is_any_armed.load(std::memory_order_relaxed) ? fiu_fail(point) : 0;
}

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
  InterceptedMonitor(Interceptor& interceptor, std::uint64_t number) noexcept
      : interceptor_(interceptor), number_(number) {}

  void lock() noexcept override {
    interceptor_.ask(ThreadStep::lock, number_);
    take();
  }
  void unlock() noexcept override {
    Interceptor& interceptor = interceptor_;
    const std::uint64_t number = number_;
    give_back();
    // Another thread may destroy this now.
    interceptor.ask(ThreadStep::unlock, number);
  }
  void wait() noexcept override {
    interceptor_.ask(ThreadStep::wait, number_);
    give_back();
    interceptor_.wait_for(Wait::notice, this);
    take();
  }
  void notify_all() noexcept override {
    interceptor_.ask(ThreadStep::notify, number_);
    interceptor_.wake(Wait::notice, this);
  }

 private:
  void give_back() noexcept {
    LASTREF_ASSERT(held_);
    held_ = false;
    if (queued_ > 0) {
      interceptor_.wake(Wait::lock, this);
    }
  }
  void take() noexcept {
    while (held_) {
      ++queued_;
      interceptor_.wait_for(Wait::lock, this);
      --queued_;
    }
    held_ = true;
  }

  Interceptor& interceptor_;
  std::uint64_t number_;
  bool held_ = false;
  int queued_ = 0;
};

constexpr std::string_view connection_prefix = "conn:";
constexpr std::int64_t no_limit = -1;

}  // namespace

InstrumentedOs::InstrumentedOs(os::Os& inner,
                               Interceptor& interceptor,
                               const os::Limits& limits) noexcept
    : inner_(inner), interceptor_(interceptor), limits_(limits) {
  LASTREF_ASSERT(fiu_ready());
}

InstrumentedOs::~InstrumentedOs() = default;

void InstrumentedOs::adopt(os::Fd fd, std::string_view name) {
  names_.open(fd, name);
}

std::vector<std::string> InstrumentedOs::still_open() {
  return names_.still_open();
}

void InstrumentedOs::arm(Call call, int error) {
  LASTREF_ASSERT(fiu_ready());
  const int armed = fiu_enable(row_of(call).point, error, nullptr, FIU_ONETIME);
  LASTREF_ASSERT(armed == 0);
  is_any_armed = true;
}

int InstrumentedOs::failure_at(Call call, const Injection& injection) noexcept {
  if (injection.error != 0) {
    return injection.error;
  }
  const int error = failure_of_fiu(row_of(call).point);
  if (error != 0) {
    // A point enabled once is disabled again: enabling it twice would leak the name in libfiu 1.1.
    fiu_disable(row_of(call).point);
  }
  return error;
}

PendingCall InstrumentedOs::begin_call(Call call, const Subject& subject) {
  PendingCall made{.call = call,
                   .name = row_of(call).method,
                   .object = subject.object,
                   .text = subject.text,
                   .value = subject.value};
  if (interceptor_.counts()) {
    made.k = names_.count(made.name, made.object);
  }
  return made;
}

tl::unexpected<Error> InstrumentedOs::injected(Call call, int error, const Subject& subject) {
  const std::string_view about = subject.text.empty() ? subject.object : subject.text;
  return tl::unexpected<Error>(Error{
      .code = std::errc{error}, .call = call, .subject = std::string(about), .injected = true});
}

InstrumentedOs::Subject InstrumentedOs::of(os::Fd fd) {
  return {.object = names_.name_of(fd), .text = names_.path_of(fd)};
}

std::string_view InstrumentedOs::name_of(os::Signal signal) noexcept {
  switch (signal) {
    case os::Signal::interrupt:
      return "interrupt";
    case os::Signal::terminate:
      return "terminate";
    case os::Signal::hang_up:
      return "hang_up";
    case os::Signal::quit:
      return "quit";
    case os::Signal::kill:
      return "kill";
    case os::Signal::stop:
      return "stop";
    case os::Signal::resume:
      return "resume";
  }
  LASTREF_ASSERT(false);
}

InstrumentedOs::Subject InstrumentedOs::of(const CallObject& object, std::string& path) {
  if (const auto given = object.path()) {
    path = object.where != nullptr ? names_.path_of(*object.where) : std::string(*given);
    return {.object = object_of(path), .text = path, .value = object.mode};
  }
  if (object.fd) {
    Subject subject = of(*object.fd);
    subject.value = object.bytes;
    return subject;
  }
  return object.signal ? Subject{.object = name_of(*object.signal)} : Subject{};
}

void InstrumentedOs::step(Step step) noexcept {
  const StepRow& row = row_of(step);
  PendingCall going{.name = row.name};
  if (interceptor_.counts()) {
    going.k = names_.count(row.name, {});
  }
  interceptor_.before(going);
  [[maybe_unused]] const int ignored = failure_of_fiu(row.point);
  inner_.step(step);
  interceptor_.after(going, {});
}

void InstrumentedOs::touch(const os::WordAccess& access) noexcept {
  step(access.step);
  // No other thread runs between this and the access.
  inner_.touch(access);
}

void InstrumentedOs::access_atomic(const void* object, bool writes) noexcept {
  if (interceptor_.serialises()) {
    interceptor_.ask(writes ? ThreadStep::store : ThreadStep::load, number_of(object));
  }
}

std::uint64_t InstrumentedOs::number_of(const void* atomic) noexcept {
  const AllocationScope is_the_harness(/*is_products=*/false);
  const auto [at, is_new] = atomics_.try_emplace(atomic, 0);
  if (is_new) {
    at->second = thread_objects_++;
  }
  return at->second;
}

Status InstrumentedOs::close(os::Fd fd) noexcept {
  const auto act = [&] {
    interceptor_.closes(fd);
    names_.close(fd);
    return inner_.close(fd);
  };
  PendingCall going = begin_call(Call::close, of(fd));
  const int error = failure_at(Call::close, interceptor_.before(going));
  // On Linux the descriptor is closed whatever close(2) returns, so an injected failure closes as
  // well.
  Status answer = act();
  if (error != 0) {
    answer = injected(Call::close, error, of(fd));
  }
  interceptor_.after(
      going, {.error = answer ? 0 : static_cast<int>(answer.error().code), .injected = error != 0});
  return answer;
}

template <typename Act>
Status InstrumentedOs::move(Call call, const os::PathAt& from, const os::PathAt& to, Act act) {
  const std::string old_path = names_.path_of(from);
  const std::string path = names_.path_of(to);
  return cross(call, {.object = object_of(path), .text = path}, [&](auto&, auto&) {
    Status moved = act();
    if (moved) {
      names_.move(old_path, path);
    }
    return moved;
  });
}

Status InstrumentedOs::rename(const os::PathAt& from, const os::PathAt& to) noexcept {
  return move(Call::rename, from, to, [&] { return inner_.rename(from, to); });
}

Status InstrumentedOs::rename_new(const os::PathAt& from, const os::PathAt& to) noexcept {
  return move(Call::rename_new, from, to, [&] { return inner_.rename_new(from, to); });
}

Result<os::Buffer> InstrumentedOs::map(const os::MapOptions& options) noexcept {
  const Subject subject =
      options.file == os::Fd::none ? Subject{.object = "anonymous"} : of(options.file);
  return cross(Call::map, subject, [&](auto&, auto&) {
    auto mapped = inner_.map(options);
    if (mapped) {
      names_.map(*mapped, subject.object);
    }
    return mapped;
  });
}

Status InstrumentedOs::unmap(os::Buffer mapped) noexcept {
  return cross(Call::unmap, {.object = names_.name_of(os::Bytes(mapped))}, [&](auto&, auto&) {
    Status unmapped = inner_.unmap(mapped);
    if (unmapped) {
      names_.unmap(mapped);
    }
    return unmapped;
  });
}

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
    return std::make_unique<InterceptedMonitor>(interceptor_, thread_objects_++);
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

Result<os::Fd> InstrumentedOs::make_socket() noexcept {
  return cross(Call::make_socket, {}, [&](auto&, auto&) {
    auto fd = inner_.make_socket();
    if (fd) {
      names_.open(*fd, "socket");
    }
    return fd;
  });
}

Status InstrumentedOs::bind(os::Fd socket, const std::string& path) noexcept {
  const Subject subject{.object = object_of(path), .text = path};
  return cross(Call::bind, subject, [&](auto&, auto&) {
    Status bound = inner_.bind(socket, path);
    if (bound) {
      names_.open(socket, subject.object, path);
      interceptor_.bound(path);
    }
    return bound;
  });
}

Result<os::Fd> InstrumentedOs::accept(os::Fd socket) noexcept {
  return cross(Call::accept, of(socket), [&](auto&, auto&) {
    auto fd = inner_.accept(socket);
    if (fd) {
      // Bypasses the interceptor: the name must not depend on whether the product asks.
      const auto peer = inner_.peer_of(*fd);
      const std::string_view role = peer ? interceptor_.role_of(peer->pid) : std::string_view{};
      names_.open(*fd, role.empty() ? "conn" : names_.joined(connection_prefix, role));
    }
    return fd;
  });
}

Status InstrumentedOs::connect(os::Fd socket, const std::string& path) noexcept {
  return cross(Call::connect, {.object = object_of(path), .text = path}, [&](auto&, auto&) {
    Status connected = inner_.connect(socket, path);
    if (connected) {
      names_.rename(socket, "tracker");  // No other socket is ever connected to.
    }
    return connected;
  });
}

Result<os::Received> InstrumentedOs::receive(os::Fd socket, os::Buffer into) noexcept {
  const Subject subject = of(socket);
  return cross(Call::receive, subject, [&](auto&, auto&) {
    auto received = inner_.receive(socket, into);
    if (received) {
      // Descriptors arrive only with announcements, and are named after the sender's process.
      const std::string_view role = subject.object.starts_with(connection_prefix)
                                        ? subject.object.substr(connection_prefix.size())
                                        : subject.object;
      for (const os::Fd fd : received->fds) {
        names_.open(fd, names_.joined("process:", role));
      }
    }
    return received;
  });
}

Result<os::PipeEnds> InstrumentedOs::make_pipe() noexcept {
  return cross(Call::make_pipe, {}, [&](auto&, auto&) {
    auto ends = inner_.make_pipe();
    if (ends) {
      names_.open(ends->read, "pipe.read");
      names_.open(ends->write, "pipe.write");
    }
    return ends;
  });
}

Result<std::size_t> InstrumentedOs::poll(std::span<os::PollItem> items,
                                         std::optional<std::chrono::nanoseconds> timeout) noexcept {
  const Subject subject{.value = timeout ? timeout->count() : no_limit};
  return cross(Call::poll, subject, [&](PendingCall& going, const Injection& injection) {
    if (!interceptor_.serialises()) {
      return inner_.poll(items, timeout);
    }
    std::optional<os::Instant> deadline;
    for (bool late = false;;) {
      auto ready = inner_.poll(items, std::chrono::nanoseconds(0));
      if (!ready || *ready > 0 || late || timeout == std::chrono::nanoseconds(0)) {
        return ready;
      }
      if (timeout && !deadline) {
        deadline = interceptor_.now() + *timeout;
      }
      going.waited = true;
      if (deadline && (injection.late || interceptor_.is_time_over())) {
        interceptor_.time_is_over(*deadline);
        return ready;
      }
      late = !interceptor_.wait_ready(items, deadline);
    }
  });
}

}  // namespace lastref::harness
