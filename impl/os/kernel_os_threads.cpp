#include "impl/os/kernel_os_threads.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <string>
#include <utility>

#include <lastref/kernel_os.hpp>

#include "impl/os/kernel_os_limits.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::os {
namespace {

std::atomic<bool> size_signal_is_ours = false;

/// In a thread of ours: the signals that were blocked in the thread that started it for the
/// program.
thread_local const sigset_t* blocked_by_program = nullptr;

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
    // A mutex that records its owner, so that a second lock is an assertion failure instead of a
    // hang.
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

void ignore_size_signal() noexcept {
  // A write beyond RLIMIT_FSIZE raises it. Its default action would end a process that can handle
  // file_too_large as well. setrlimit(2). Python ignores it for the same reason.
  struct sigaction action {};
  ::sigaction(SIGXFSZ, nullptr, &action);
  if ((action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL) {
    action.sa_handler = SIG_IGN;
    ::sigaction(SIGXFSZ, &action, nullptr);
    size_signal_is_ours.store(true, std::memory_order_relaxed);
  }
}

bool is_size_signal_ours() noexcept {
  return size_signal_is_ours.load(std::memory_order_relaxed);
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

std::unique_ptr<Monitor> KernelOs::make_monitor() {
  return std::make_unique<KernelMonitor>();
}

}  // namespace lastref::os
