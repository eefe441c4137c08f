// kernel_os_processes: starting, naming, signalling and reaping processes; threads and monitors.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <climits>

#include <lastref/kernel_os.hpp>

#include "impl/os/kernel_os_error.hpp"

namespace lastref::os {
namespace {

constexpr int first_free_number = 3;
/// Of 1024 processors each.
constexpr std::size_t processor_sets_max = 64;

// Not those of <sys/pidfd.h>: in glibc 2.36 it forgets to say that they are C.
int pidfd_open(pid_t pid) noexcept {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U));
}

int pidfd_send_signal(int process, int signal) noexcept {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, process, signal, nullptr, 0U));
}

int number_of(Signal signal) noexcept {
  switch (signal) {
    case Signal::interrupt:
      return SIGINT;
    case Signal::terminate:
      return SIGTERM;
    case Signal::kill:
      return SIGKILL;
    case Signal::stop:
      return SIGSTOP;
    case Signal::resume:
      return SIGCONT;
  }
  LASTREF_ASSERT(false);
}

/// The file this program runs from, if it is called lastref.
std::string this_program() {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t size = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  const std::string path(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return path.ends_with("/lastref") ? path : std::string();
}

/// Blocks every signal for a scope.
class WithoutSignals {
 public:
  WithoutSignals() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;
  ~WithoutSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// The attributes of a child: every disposition default, these signals blocked and no others.
///
/// posix_spawn(3) runs the child with all signals blocked until it sets this mask, right before
/// exec.
class Attributes {
 public:
  Attributes() noexcept { error_ = ::posix_spawnattr_init(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }

  const posix_spawnattr_t* get() const noexcept { return &attributes_; }
  int error() const noexcept { return error_; }

  void block(std::span<const Signal> signals) noexcept {
    sigset_t blocked;
    ::sigemptyset(&blocked);
    for (const Signal signal : signals) {
      ::sigaddset(&blocked, number_of(signal));
    }
    sigset_t all;
    ::sigfillset(&all);
    note(::posix_spawnattr_setsigmask(&attributes_, &blocked));
    note(::posix_spawnattr_setsigdefault(&attributes_, &all));
    note(::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }

 private:
  void note(int error) noexcept { error_ = error_ == 0 ? error : error_; }

  posix_spawnattr_t attributes_{};
  int error_ = 0;
};

/// What happens to descriptors in the child: these under their numbers, and nothing else above 2.
class FdActions {
 public:
  FdActions() noexcept { error_ = ::posix_spawn_file_actions_init(&actions_); }
  FdActions(const FdActions&) = delete;
  FdActions& operator=(const FdActions&) = delete;
  ~FdActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }
  int error() const noexcept { return error_; }

  void pass(std::span<const PassedFd> fds) noexcept {
    int above = first_free_number;   // All numbers there are below
    int beyond = first_free_number;  // and all numbers here too are below this one.
    bool overlaps = false;
    for (const PassedFd& fd : fds) {
      LASTREF_ASSERT(fd.number_there >= first_free_number);
      above = std::max(above, fd.number_there + 1);
      beyond = std::max({beyond, above, number(fd.here) + 1});
      overlaps =
          overlaps || std::ranges::any_of(fds, [&](const PassedFd& other) {
            return other.number_there == number(fd.here) && other.number_there != fd.number_there;
          });
    }
    // Where a number here is also a number there, everything steps aside first.
    int aside = beyond;
    for (const PassedFd& fd : fds) {
      duplicate(number(fd.here), overlaps ? aside++ : fd.number_there);
    }
    aside = beyond;
    for (const PassedFd& fd : fds) {
      if (overlaps) {
        duplicate(aside++, fd.number_there);
      }
    }
    close_all_but(fds, above);
  }

 private:
  /// Also clears close-on-exec where both numbers are the same.
  void duplicate(int from, int to) noexcept {
    note(::posix_spawn_file_actions_adddup2(&actions_, from, to));
  }

  /// Ours close themselves on exec; those of the program around us may not. They would keep pipes
  /// and files open for as long as the child lives.
  void close_all_but(std::span<const PassedFd> fds, int above) noexcept {
    for (int i = first_free_number; i < above; ++i) {
      if (std::ranges::find(fds, i, &PassedFd::number_there) == fds.end()) {
        note(::posix_spawn_file_actions_addclose(&actions_, i));
      }
    }
    note(::posix_spawn_file_actions_addclosefrom_np(&actions_, above));
  }

  void note(int error) noexcept { error_ = error_ == 0 ? error : error_; }

  posix_spawn_file_actions_t actions_{};
  int error_ = 0;
};

/// Words as exec wants them: pointers that are good as long as the words are, and a null behind.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// What is in our environment and in `added`, which counts where both have a name.
std::vector<std::string> environment_with(
    std::span<const std::pair<std::string, std::string>> added) {
  std::vector<std::string> words;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    words.emplace_back(*at);
  }
  for (const auto& [name, value] : added) {
    LASTREF_ASSERT(!name.empty());
    LASTREF_ASSERT(name.find('=') == std::string::npos);
    const std::string prefix = name + '=';
    std::erase_if(words, [&](const std::string& word) { return word.starts_with(prefix); });
    words.push_back(prefix + value);
  }
  return words;
}

/// Ends a child that nobody will ever hear of. What is no child of ours any more is left alone.
void kill_and_reap(pid_t pid) noexcept {
  if (::waitpid(pid, nullptr, WNOHANG) != 0) {
    return;
  }
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

/// Whether the descriptor names a child of ours that nobody has reaped.
bool is_child(int process) noexcept {
  siginfo_t state{};
  return ::waitid(P_PIDFD, static_cast<id_t>(process), &state, WEXITED | WNOHANG | WNOWAIT) == 0;
}

class KernelThread final : public Thread {
 public:
  explicit KernelThread(std::function<void()> body) noexcept : body_(std::move(body)) {}
  KernelThread(const KernelThread&) = delete;
  KernelThread& operator=(const KernelThread&) = delete;
  ~KernelThread() override { LASTREF_ASSERT(!running_); }

  /// Every signal is blocked in it: they are for the threads of the program around us.
  int start() noexcept {
    const WithoutSignals without;
    const int error = ::pthread_create(
        &thread_,
        nullptr,
        [](void* self) -> void* {
          static_cast<KernelThread*>(self)->body_();
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
  std::function<void()> body_;
  pthread_t thread_{};
  bool running_ = false;
};

class KernelMonitor final : public Monitor {
 public:
  KernelMonitor() noexcept {
    pthread_mutexattr_t attributes{};
    check(::pthread_mutexattr_init(&attributes));
    // A mutex that knows its owner, so that a second lock is an assertion and not a hang.
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

}  // namespace

Result<Child> KernelOs::spawn(const SpawnOptions& options) noexcept {
  std::string program = program_.empty() ? this_program() : program_;
  if (program.empty()) {
    program = "lastref";
  }
  std::vector<std::string> words = {"lastref", options.entry};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::string> variables = environment_with(options.environment);

  Attributes attributes;
  attributes.block(options.blocked);
  FdActions actions;
  actions.pass(options.fds);
  if (const int error = std::max(attributes.error(), actions.error()); error != 0) {
    return failure(std::errc{error}, program, Call::spawn);
  }
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid,
                                   program.c_str(),
                                   actions.get(),
                                   attributes.get(),
                                   pointers_to(words).data(),
                                   pointers_to(variables).data());
  if (error != 0) {
    return failure(std::errc{error}, program, Call::spawn);
  }
  const int process = pidfd_open(pid);
  if (process < 0) {
    auto why = failed_process(Call::spawn, pid);
    kill_and_reap(pid);
    return why;
  }
  if (!is_child(process)) {
    ::close(process);
    errno = ESRCH;
    return failed_process(Call::spawn, pid);
  }
  return Child{.pid = pid, .process = Fd{process}};
}

Result<Fd> KernelOs::open_process(Pid pid) noexcept {
  const int fd = pidfd_open(pid);
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
  if (::waitid(P_PIDFD, static_cast<id_t>(number(process)), &state, WEXITED | WNOHANG) < 0) {
    return failed(Call::wait_child, process);
  }
  if (state.si_pid == 0) {
    return std::nullopt;
  }
  return ChildExit{.code = state.si_status, .killed = state.si_code != CLD_EXITED};
}

Pid KernelOs::process_id() noexcept {
  return ::getpid();
}

std::uint32_t KernelOs::user_id() noexcept {
  return ::geteuid();
}

Status KernelOs::ignore_signal(Signal signal) noexcept {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  return status_of(
      ::sigaction(number_of(signal), &action, nullptr), Call::ignore_signal, std::string());
}

Status KernelOs::unblock_signal(Signal signal) noexcept {
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, number_of(signal));
  const int error = ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  return error == 0 ? ok() : Status(failure(std::errc{error}, {}, Call::unblock_signal));
}

Result<std::unique_ptr<Thread>> KernelOs::start_thread(std::function<void()> body) noexcept {
  auto thread = std::make_unique<KernelThread>(std::move(body));
  if (const int error = thread->start(); error != 0) {
    return failure(std::errc{error}, {}, Call::start_thread);
  }
  return thread;
}

Pid KernelOs::thread_id() noexcept {
  return ::gettid();
}

unsigned KernelOs::processors() noexcept {
  // A set that is too small for the machine is refused. sched_getaffinity(2), "NOTES"
  for (std::size_t count = 1; count <= processor_sets_max; count *= 2) {
    std::vector<cpu_set_t> sets(count);
    const std::size_t size = count * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, size, sets.data()) == 0) {
      return static_cast<unsigned>(std::max(CPU_COUNT_S(size, sets.data()), 1));
    }
  }
  return 1;
}

std::unique_ptr<Monitor> KernelOs::make_monitor() noexcept {
  return std::make_unique<KernelMonitor>();
}

}  // namespace lastref::os
