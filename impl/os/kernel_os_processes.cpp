// kernel_os_processes: naming, signalling and reaping processes; threads and monitors.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include <lastref/kernel_os.hpp>

#include "impl/os/kernel_os_birth.hpp"
#include "impl/os/kernel_os_error.hpp"
#include "impl/os/kernel_os_limits.hpp"
#include "impl/os/kernel_os_numbers.hpp"
#include "impl/os/kernel_os_signals.hpp"
#include "impl/os/kernel_os_token.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::os {
namespace {

/// Sets of 1024 processors each.
constexpr std::size_t processor_sets_max = 64;

int pidfd_send_signal(int process, int signal) noexcept {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, process, signal, nullptr, 0U));
}

/// In a thread of ours: the signals that were blocked in the thread that started it for the
/// program.
thread_local const sigset_t* blocked_by_program = nullptr;

/// Does nothing, as for an ignored signal; but exec(2) restores the default.
void pass_over(int) {}

class KernelThread final : public Thread {
 public:
  explicit KernelThread(std::function<void()> body) noexcept : body_(std::move(body)) {}
  KernelThread(const KernelThread&) = delete;
  KernelThread& operator=(const KernelThread&) = delete;
  ~KernelThread() override { LASTREF_ASSERT(!running_); }

  /// A thread of ours blocks every signal except those that it may raise itself, and those by which
  /// profilers sample it: the others are for the threads of the program around us.
  int start(ThreadKind kind) noexcept {
    kind_ = kind;
    blocked_ = blocked_for_program();
    const WithSignals given(kind == ThreadKind::ours ? all_but_its_own() : blocked_);
    const int error = ::pthread_create(
        &thread_,
        nullptr,
        [](void* self) -> void* {
          static_cast<KernelThread*>(self)->live();
          return nullptr;
        },
        this);
    running_ = error == 0;
    return error;
  }

  void join() noexcept override {
    LASTREF_ASSERT(running_);
    const int error = ::pthread_join(thread_, nullptr);
    LASTREF_ASSERT(error == 0);
    running_ = false;
  }

 private:
  void live() {
    blocked_by_program = kind_ == ThreadKind::ours ? &blocked_ : nullptr;
    body_();
  }

  std::function<void()> body_;
  ThreadKind kind_ = ThreadKind::ours;
  sigset_t blocked_{};
  pthread_t thread_{};
  bool running_ = false;
};

class KernelMonitor final : public Monitor {
 public:
  KernelMonitor() noexcept {
    pthread_mutexattr_t attributes{};
    check(::pthread_mutexattr_init(&attributes));
    // A mutex that knows its owner, so that a second lock is an assertion failure and not a hang.
    check(::pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK));
    check(::pthread_mutex_init(&mutex_, &attributes));
    check(::pthread_mutexattr_destroy(&attributes));
  }
  KernelMonitor(const KernelMonitor&) = delete;
  KernelMonitor& operator=(const KernelMonitor&) = delete;
  ~KernelMonitor() override {
    check(::pthread_cond_destroy(&changed_));
    check(::pthread_mutex_destroy(&mutex_));
  }

  void lock() noexcept override { check(::pthread_mutex_lock(&mutex_)); }
  void unlock() noexcept override { check(::pthread_mutex_unlock(&mutex_)); }
  void wait() noexcept override { check(::pthread_cond_wait(&changed_, &mutex_)); }
  void notify_all() noexcept override { check(::pthread_cond_broadcast(&changed_)); }

 private:
  static void check(int error) noexcept { LASTREF_ASSERT(error == 0); }

  pthread_mutex_t mutex_{};
  pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
};

/// The C library returns EAGAIN also if there is no memory for the stack. pthread_create(3)
tl::unexpected<Error> thread_failure(int error) {
  pthread_attr_t usual{};
  std::size_t stack = 0;
  if (::pthread_getattr_default_np(&usual) == 0) {
    ::pthread_attr_getstacksize(&usual, &stack);
    ::pthread_attr_destroy(&usual);
  }
  const std::string_view limit = limit_of_addresses(stack);
  if (limit.empty() && (stack == 0 || has_addresses(stack))) {
    return failure(std::errc{error}, {}, Call::start_thread);
  }
  std::string subject = "with a stack of " + std::to_string(stack) + " bytes";
  if (!limit.empty()) {
    subject.append(" (").append(limit).append(")");
  }
  return failure(std::errc::not_enough_memory, std::move(subject), Call::start_thread);
}

}  // namespace

int number_of(Signal signal) noexcept {
  switch (signal) {
    case Signal::interrupt:
      return SIGINT;
    case Signal::terminate:
      return SIGTERM;
    case Signal::hang_up:
      return SIGHUP;
    case Signal::quit:
      return SIGQUIT;
    case Signal::kill:
      return SIGKILL;
    case Signal::stop:
      return SIGSTOP;
    case Signal::resume:
      return SIGCONT;
  }
  LASTREF_ASSERT(false);
}

sigset_t every_signal() noexcept {
  sigset_t all;
  ::sigfillset(&all);
  return all;
}

sigset_t all_but_its_own() noexcept {
  sigset_t blocked = every_signal();
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGPROF, SIGVTALRM}) {
    ::sigdelset(&blocked, signal);
  }
  return blocked;
}

sigset_t blocked_for_program() noexcept {
  if (blocked_by_program != nullptr) {
    return *blocked_by_program;
  }
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return blocked;
}

Result<Fd> KernelOs::open_process(Pid pid) noexcept {
  const StandardNumbers kept;
  const int fd = above_standard(pidfd_open(pid));
  if (fd < 0) {
    return failed_process(Call::open_process, pid);
  }
  return Fd{fd};
}

Status KernelOs::signal_process(Fd process, Signal signal) noexcept {
  return status_of(
      pidfd_send_signal(number(process), number_of(signal)), Call::signal_process, process);
}

Result<std::optional<ChildExit>> KernelOs::wait_child(Fd process) noexcept {
  siginfo_t state{};
  if (::waitid(P_PIDFD, static_cast<id_t>(number(process)), &state, WEXITED | WNOHANG) == 0) {
    if (state.si_pid == 0) {
      return std::nullopt;
    }
    return ChildExit{.code = state.si_status, .killed = state.si_code != CLD_EXITED};
  }
  if (errno != ECHILD) {
    return failed(Call::wait_child, process);
  }
  return end_of_nobodys(process);
}

Pid KernelOs::process_id() noexcept {
  return ::getpid();
}

std::uint32_t KernelOs::user_id() noexcept {
  return ::geteuid();
}

Status KernelOs::ignore_signal(Signal signal) noexcept {
  struct sigaction action {};
  const int number = number_of(signal);
  if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN &&
      (action.sa_flags & SA_SIGINFO) == 0) {
    return ok();  // The program itself wants it, and its children inherit it.
  }
  action = {};
  action.sa_handler = pass_over;
  action.sa_flags = SA_RESTART;
  return status_of(::sigaction(number, &action, nullptr), Call::ignore_signal, std::string());
}

Status KernelOs::unblock_signal(Signal signal) noexcept {
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, number_of(signal));
  const int error = ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  return error == 0 ? ok() : Status(failure(std::errc{error}, {}, Call::unblock_signal));
}

Result<std::unique_ptr<Thread>> KernelOs::start_thread(std::function<void()> body,
                                                       ThreadKind kind) noexcept {
  std::unique_ptr<KernelThread> thread;
  if (!had_memory([&] { thread = std::make_unique<KernelThread>(std::move(body)); })) {
    return no_memory("a thread");
  }
  if (const int error = thread->start(kind); error != 0) {
    return within_memory(
        "a thread", [&]() -> Result<std::unique_ptr<Thread>> { return thread_failure(error); });
  }
  return thread;
}

Pid KernelOs::thread_id() noexcept {
  struct Known {
    std::uint64_t process = 0;
    Pid id = 0;
  };
  thread_local Known known;
  // A fork copies what its thread knew.
  if (const std::uint64_t process = token_of_process(); known.process != process) {
    known = {.process = process, .id = ::gettid()};
  }
  return known.id;
}

unsigned KernelOs::processors() noexcept {
  // The kernel refuses a set that is too small for the machine. sched_getaffinity(2), "NOTES"
  std::array<cpu_set_t, processor_sets_max> sets{};
  if (::sched_getaffinity(0, sizeof sets, sets.data()) != 0) {
    return 1;
  }
  return static_cast<unsigned>(std::max(CPU_COUNT_S(sizeof sets, sets.data()), 1));
}

std::unique_ptr<Monitor> KernelOs::make_monitor() {
  return std::make_unique<KernelMonitor>();
}

}  // namespace lastref::os
