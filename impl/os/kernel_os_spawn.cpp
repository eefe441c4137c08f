#include "impl/os/kernel_os_spawn.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <climits>

#include <lastref/kernel_os.hpp>
#include <lastref/spawned.hpp>

#include "impl/os/kernel_os_error.hpp"
#include "impl/os/kernel_os_limits.hpp"
#include "impl/os/kernel_os_numbers.hpp"
#include "impl/os/kernel_os_threads.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::os {
namespace {

/// What to start, and the result.
struct SpawnRequest {
  const char* program = nullptr;
  bool is_searched = false;  ///< on PATH
  const posix_spawn_file_actions_t* actions = nullptr;
  const posix_spawnattr_t* attributes = nullptr;
  char* const* arguments = nullptr;
  char* const* variables = nullptr;
  bool many_fds = false;  ///< Used only for processes that are not our children: A can change their
                          ///< limit.

  int error = 0;              ///< An errno
  Call failed = Call::spawn;  ///< The call that returned it
  pid_t pid = 0;
  int process = -1;
};

/// As in <linux/pidfd.h> of Linux 6.15, which is newer than the headers of most systems.
struct PidfdInfo {
  std::uint64_t mask = 0;
  std::uint64_t cgroup = 0;
  std::uint32_t pid = 0;
  std::array<std::uint32_t, 10> not_asked{};
  std::int32_t exit_status = 0;  ///< As in wait(2).
};
static_assert(sizeof(PidfdInfo) == 64);

constexpr std::uint64_t pidfd_info_pid = 1U << 0U;
constexpr std::uint64_t pidfd_info_exit = 1U << 3U;
constexpr unsigned long pidfd_get_info = _IOWR(0xFF, 11, PidfdInfo);

ChildExit to_exit(int status) noexcept {
  return WIFEXITED(status) ? ChildExit{.code = WEXITSTATUS(status), .killed = false}
                           : ChildExit{.code = WTERMSIG(status), .killed = true};
}

/// None if this kernel has no such request, or has no information about a reaped process.
std::optional<PidfdInfo> info_of(int process) noexcept {
  PidfdInfo info{.mask = pidfd_info_pid | pidfd_info_exit};
  if (::ioctl(process, pidfd_get_info, &info) < 0) {
    return std::nullopt;
  }
  return info;
}

bool is_dead(int process) noexcept {
  pollfd item{.fd = process, .events = POLLIN, .revents = 0};
  return ::poll(&item, 1, 0) == 1;
}

/// The exit of a process that is dead and not yet reaped. proc(5), /proc/pid/stat, fields 3 and 52.
std::optional<ChildExit> end_of_zombie(std::uint32_t pid) noexcept {
  std::array<char, 32> path{};
  static_cast<void>(std::snprintf(path.data(), path.size(), "/proc/%u/stat", pid));
  const int fd = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return std::nullopt;
  }
  std::array<char, 1024> buffer{};
  const ssize_t size = ::read(fd, buffer.data(), buffer.size());
  ::close(fd);
  const std::string_view text(buffer.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  // Its name, field 2, may contain anything. There is a blank before each field after it.
  constexpr std::string_view is_zombie = ") Z";
  const std::size_t behind_name = text.rfind(')');
  if (behind_name == std::string::npos || !text.substr(behind_name).starts_with(is_zombie)) {
    return std::nullopt;
  }
  constexpr int fields_before = 49;
  std::string_view field = text.substr(behind_name + is_zombie.size());
  for (int i = 0; i < fields_before && !field.empty(); ++i) {
    field.remove_prefix(std::min(field.find(' ') + 1, field.size()));
  }
  int status = 0;
  const auto read = std::from_chars(field.begin(), field.end(), status);
  return read.ec == std::errc{} ? std::optional(to_exit(status)) : std::nullopt;
}

/// Ends a child that no caller will get. A process that is not our child any more is left alone.
void kill_and_reap(pid_t pid) noexcept {
  if (::waitpid(pid, nullptr, WNOHANG) != 0) {
    return;
  }
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

/// Whether the descriptor refers to a child of ours that is not reaped.
bool is_child(int process) noexcept {
  siginfo_t state{};
  return ::waitid(P_PIDFD, static_cast<id_t>(process), &state, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// Starts the process as a child of the caller.
void start_child(SpawnRequest& request) noexcept {
  const auto spawn = request.is_searched ? ::posix_spawnp : ::posix_spawn;
  request.error = spawn(&request.pid,
                        request.program,
                        request.actions,
                        request.attributes,
                        request.arguments,
                        request.variables);
  if (request.error != 0) {
    return;
  }
  request.process = pidfd_open(request.pid);
  if (request.process < 0) {
    request.error = errno;
    const bool is_refused = request.error == EPERM || request.error == ENOSYS;
    request.failed = is_refused ? Call::open_process : Call::spawn;
    kill_and_reap(request.pid);
  } else if (!is_child(request.process)) {
    ::close(request.process);
    request.error = ESRCH;
  }
}

constexpr unsigned long intermediate_flags = CLONE_VM | CLONE_VFORK | CLONE_FILES;

// A child that shares our stack may not return from the function that made the call, so the call is
// made inline, and only A uses the functions that are called after it. Compiled as a function of
// its own.
#if defined(__x86_64__)

constexpr bool can_spawn_detached = true;

[[gnu::always_inline]] inline long clone_here(unsigned long flags, int* process) noexcept {
  long result = SYS_clone;
  register long tls asm("r8") = 0;
  register long child asm("r10") = 0;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(flags), "S"(0L), "d"(process), "r"(child), "r"(tls)
               : "rcx", "r11", "memory");
  return result;
}

[[noreturn, gnu::always_inline]] inline void leave_here() noexcept {
  for (;;) {
    long result = SYS_exit_group;
    asm volatile("syscall" : "+a"(result) : "D"(0L) : "rcx", "r11", "memory");
  }
}

#elif defined(__aarch64__)

constexpr bool can_spawn_detached = true;

[[gnu::always_inline]] inline long clone_here(unsigned long flags, int* process) noexcept {
  register long call asm("x8") = SYS_clone;
  register long result asm("x0") = static_cast<long>(flags);
  register long stack asm("x1") = 0;
  register int* parent asm("x2") = process;
  register long tls asm("x3") = 0;
  register long child asm("x4") = 0;
  asm volatile("svc 0"
               : "+r"(result)
               : "r"(call), "r"(stack), "r"(parent), "r"(tls), "r"(child)
               : "memory");
  return result;
}

[[noreturn, gnu::always_inline]] inline void leave_here() noexcept {
  for (;;) {
    register long call asm("x8") = SYS_exit_group;
    register long result asm("x0") = 0;
    asm volatile("svc 0" : "+r"(result) : "r"(call) : "memory");
  }
}

#else

constexpr bool can_spawn_detached = false;

inline long clone_here(unsigned long, int*) noexcept {
  return -ENOSYS;
}

[[noreturn]] inline void leave_here() noexcept {
  ::_exit(0);
}

#endif

/// A has dispositions of its own. While it ignores SIGCHLD, a process that it has started could be
/// reaped, and its pid belong to another one, before A can open it. Uses the system call:
/// sanitizers intercept the C library's sigaction, and would take this for the program's own.
void keep_dead_children() noexcept {
  constexpr std::size_t mask_size = 8;
  alignas(std::max_align_t) constexpr std::array<std::byte, 64> default_action{};
  ::syscall(SYS_rt_sigaction, SIGCHLD, default_action.data(), nullptr, mask_size);
}

/// For A, and so for the processes that A starts: limits are not shared, though memory and
/// descriptors are. If the kernel refuses, they stay unchanged.
void allow_many_descriptors() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

/// Returns the pid of A, which has run and ended, and is not reaped; or a negative errno.
[[gnu::noinline]] long run_intermediate(SpawnRequest* request) noexcept {
  const long pid = clone_here(intermediate_flags, nullptr);
  if (pid == 0) {
    keep_dead_children();
    if (request->many_fds) {
      allow_many_descriptors();
    }
    start_child(*request);
    leave_here();
  }
  return pid;
}

/// The same for a process that does nothing; also returns its descriptor.
[[gnu::noinline]] long run_idle(int* process) noexcept {
  const long pid = clone_here(CLONE_VM | CLONE_VFORK | CLONE_PIDFD, process);
  if (pid == 0) {
    leave_here();
  }
  return pid;
}

/// A process to reap in the background. `process` and `checked` are the starter's, and exist until
/// `checked` is posted.
struct Orphan {
  pid_t pid = 0;
  int process = -1;
  sem_t checked{};
};

/// Checks first that the process is still a child of ours: the pid is that of the same process
/// until it is reaped. Then it may wait as long as the program runs, and holds no descriptor.
void* reap_orphan(void* given) noexcept {
  auto* const orphan = static_cast<Orphan*>(given);
  const pid_t pid = orphan->pid;
  const bool is_ours = is_child(orphan->process);
  ::sem_post(&orphan->checked);
  siginfo_t state{};
  while (is_ours && ::waitid(P_PID, static_cast<id_t>(pid), &state, WEXITED) < 0 &&
         errno == EINTR) {
  }
  return nullptr;
}

void reap_a(long pid) noexcept {
  while (::waitpid(static_cast<pid_t>(pid), nullptr, __WALL) < 0 && errno == EINTR) {
  }
}

/// Starts the process as no child of ours. False if that is not supported here: nothing was tried.
bool spawn_detached(SpawnRequest& request) noexcept {
  if (!can_spawn_detached) {
    return false;
  }
  // A handler that ran in A would run in our memory as another process.
  const WithSignals none(every_signal());
  const long pid = run_intermediate(&request);
  if (pid < 0) {
    request.error = static_cast<int>(-pid);
    return true;
  }
  reap_a(pid);
  return true;
}

/// Reaps the process as soon as it has ended, if it is a child of this process all the same;
/// `process` stays the caller's. Without a thread for that, only wait_child reaps it.
void reap_in_background(pid_t pid, int process) noexcept {
  if (!is_child(process)) {
    return;
  }
  pthread_attr_t detached{};
  if (::pthread_attr_init(&detached) != 0) {
    return;
  }
  ::pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  const WithSignals given(all_but_its_own());
  Orphan orphan{.pid = pid, .process = process};
  ::sem_init(&orphan.checked, 0, 0);
  pthread_t thread{};
  if (::pthread_create(&thread, &detached, reap_orphan, &orphan) == 0) {
    while (::sem_wait(&orphan.checked) < 0 && errno == EINTR) {
    }
  }
  ::sem_destroy(&orphan.checked);
  ::pthread_attr_destroy(&detached);
}

bool probe_exit_report() noexcept {
  const WithSignals none(every_signal());
  int process = -1;
  const long pid = run_idle(&process);
  if (pid < 0) {
    return false;
  }
  reap_a(pid);
  const std::optional<PidfdInfo> info = info_of(process);
  ::close(process);
  return info && (info->mask & pidfd_info_exit) != 0;
}

/// Whether this program runs with more rights than its caller has: getauxval(3), AT_SECURE.
bool is_privileged() noexcept {
  return ::getauxval(AT_SECURE) != 0;
}

/// The file of this program, if it is called lastref.
std::string this_program() {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t size = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  const std::string path(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return path.ends_with("/lastref") ? path : std::string();
}

/// The attributes of a child: these signals are blocked in addition to those that the program
/// blocks.
///
/// posix_spawn(3) runs the child with all signals blocked until it sets this mask, directly before
/// exec, which gives every signal with a handler its default action. Signals that the program
/// ignores stay ignored, also SIGPIPE; those that only we ignore do not.
class Attributes {
 public:
  Attributes() noexcept { error_ = ::posix_spawnattr_init(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }

  const posix_spawnattr_t* get() const noexcept { return &attributes_; }
  int error() const noexcept { return error_; }

  void block(std::span<const Signal> signals) noexcept {
    sigset_t blocked = blocked_for_program();
    for (const Signal signal : signals) {
      ::sigaddset(&blocked, number_of(signal));
    }
    sigset_t defaults;
    ::sigemptyset(&defaults);
    if (is_size_signal_ours()) {
      ::sigaddset(&defaults, SIGXFSZ);
    }
    note(::posix_spawnattr_setsigmask(&attributes_, &blocked));
    note(::posix_spawnattr_setsigdefault(&attributes_, &defaults));
    note(::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }

 private:
  void note(int error) noexcept { error_ = error_ == 0 ? error : error_; }

  posix_spawnattr_t attributes_{};
  int error_ = 0;
};

/// The descriptors of the child: these under their numbers, and nothing else above 2.
class FdActions {
 public:
  FdActions() noexcept { error_ = ::posix_spawn_file_actions_init(&actions_); }
  FdActions(const FdActions&) = delete;
  FdActions& operator=(const FdActions&) = delete;
  ~FdActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }
  int error() const noexcept { return error_; }

  void pass(std::span<const PassedFd> fds) noexcept {
    int above = standard_numbers;   // All numbers in the child are less than this one,
    int beyond = standard_numbers;  // and all numbers of both processes are less than this one.
    bool overlaps = false;
    for (const PassedFd& fd : fds) {
      LASTREF_ASSERT(fd.number_there >= standard_numbers);
      above = std::max(above, fd.number_there + 1);
      beyond = std::max({beyond, above, number(fd.here) + 1});
      overlaps =
          overlaps || std::ranges::any_of(fds, [&](const PassedFd& other) {
            return other.number_there == number(fd.here) && other.number_there != fd.number_there;
          });
    }
    // If a number of ours is also one in the child, all are first duplicated to higher numbers.
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
    fill_standard();
  }

 private:
  /// Also clears close-on-exec if both numbers are the same.
  void duplicate(int from, int to) noexcept {
    note(::posix_spawn_file_actions_adddup2(&actions_, from, to));
  }

  /// Our descriptors are close-on-exec; those of the program around us may not be. They would keep
  /// pipes and files open while the child runs.
  void close_all_but(std::span<const PassedFd> fds, int above) noexcept {
    for (int i = standard_numbers; i < above; ++i) {
      if (std::ranges::find(fds, i, &PassedFd::number_there) == fds.end()) {
        note(::posix_spawn_file_actions_addclose(&actions_, i));
      }
    }
    note(::posix_spawn_file_actions_addclosefrom_np(&actions_, above));
  }

  /// The child has all three, even if the program does not, or has them close-on-exec: so no file
  /// that the child opens becomes one of them.
  void fill_standard() noexcept {
    for (int i = 0; i < standard_numbers; ++i) {
      if (!is_standard(i)) {
        note(::posix_spawn_file_actions_addopen(&actions_, i, "/dev/null", O_RDWR, 0));
      }
    }
  }

  void note(int error) noexcept { error_ = error_ == 0 ? error : error_; }

  posix_spawn_file_actions_t actions_{};
  int error_ = 0;
};

/// Strings in the format of exec: pointers that are valid while the strings are, and a null pointer
/// at the end.
std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& string : strings) {
    pointers.push_back(string.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// Our environment and `added`, which takes precedence. A set-user-id program's environment, which
/// its caller controls, is left out.
std::vector<std::string> environment_with(
    std::span<const std::pair<std::string, std::string>> added) {
  std::vector<std::string> strings;
  if (is_privileged()) {
    strings.emplace_back("PATH=/usr/sbin:/usr/bin:/sbin:/bin");
  }
  for (char** at = is_privileged() ? nullptr : environ; at != nullptr && *at != nullptr; ++at) {
    strings.emplace_back(*at);
  }
  for (const auto& [name, value] : added) {
    LASTREF_ASSERT(!name.empty());
    LASTREF_ASSERT(name.find('=') == std::string::npos);
    const std::string prefix = name + '=';
    std::erase_if(strings, [&](const std::string& string) { return string.starts_with(prefix); });
    strings.push_back(prefix + value);
  }
  return strings;
}

/// About the size of the stack that posix_spawn(3) maps for a child before exec.
constexpr std::size_t spawn_stack = std::size_t{64} << 10U;

tl::unexpected<Error> spawn_failure(int error, Call call, const std::string& program) {
  const std::string_view limit = error == ENOMEM ? limit_of_addresses(spawn_stack) : "";
  if (limit.empty()) {
    return failed_with_code(error, call, program);
  }
  return failed_with_code(error, call, std::string(program).append(" (").append(limit).append(")"));
}

}  // namespace

int pidfd_open(pid_t pid) noexcept {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U));
}

bool reports_exit_of_detached() noexcept {
  enum : int { unknown, no, yes };
  static std::atomic<int> answer = unknown;
  int known = answer.load(std::memory_order_relaxed);
  if (known == unknown) {
    known = can_spawn_detached && probe_exit_report() ? yes : no;
    answer.store(known, std::memory_order_relaxed);
  }
  return known == yes;
}

Result<std::optional<ChildExit>> exit_status_of_detached(Fd process) noexcept {
  // It may be reaped between two requests, but only once.
  for (int tries = 0; tries < 2; ++tries) {
    const std::optional<PidfdInfo> info = info_of(number(process));
    if (info && (info->mask & pidfd_info_exit) != 0) {
      return to_exit(info->exit_status);
    }
    if (!is_dead(number(process))) {
      return std::nullopt;
    }
    const std::optional<ChildExit> left = info ? end_of_zombie(info->pid) : std::nullopt;
    // If it is still not reaped, the pid was its own.
    const std::optional<PidfdInfo> again = info_of(number(process));
    if (left && again && (again->mask & pidfd_info_exit) == 0) {
      return left;
    }
  }
  if (reports_exit_of_detached()) {
    return std::nullopt;  // Not reaped, and there is no /proc: try later.
  }
  errno = ECHILD;
  return failed(Call::wait_child, process);
}

Result<Child> KernelOs::spawn(const SpawnOptions& options) noexcept {
  return within_memory("spawn", [&] { return spawn_within_memory(options); });
}

Result<Child> KernelOs::spawn_within_memory(const SpawnOptions& options) {
  // Of a set-user-id program, too: it is only refused for it.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (const char* const role = std::getenv(spawned_marker)) {
    return not_guarded(role, Call::spawn);
  }
  std::string program = program_.empty() ? this_program() : program_;
  if (program.empty()) {
    program = "lastref";
  }
  if (is_privileged() && !program.starts_with('/')) {
    return failure(std::errc::permission_denied,
                   program + " (a set-user-id program starts only what has an absolute path)",
                   Call::spawn);
  }
  std::vector<std::string> strings = {"lastref", options.entry};
  strings.insert(strings.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::string> variables = environment_with(options.environment);

  const StandardNumbers kept;
  Attributes attributes;
  attributes.block(options.blocked);
  FdActions actions;
  actions.pass(options.fds);
  if (const int error = std::max(attributes.error(), actions.error()); error != 0) {
    return failed_with_code(error, Call::spawn, program);
  }
  const std::vector<char*> argument_pointers = pointers_to(strings);
  const std::vector<char*> variable_pointers = pointers_to(variables);
  SpawnRequest request{.program = program.c_str(),
                       .is_searched = program.find('/') == std::string::npos,
                       .actions = actions.get(),
                       .attributes = attributes.get(),
                       .arguments = argument_pointers.data(),
                       .variables = variable_pointers.data(),
                       .many_fds = options.many_fds};
  const bool is_childs_end_needed = options.end_wanted && !reports_exit_of_detached();
  if (is_childs_end_needed || !spawn_detached(request)) {
    start_child(request);
  }
  if (request.error != 0) {
    return spawn_failure(request.error, request.failed, program);
  }
  const int process = above_standard(request.process);
  if (process < 0) {
    auto why = failed_process(Call::spawn, request.pid);
    return why;
  }
  if (!options.end_wanted) {
    reap_in_background(request.pid, process);
  }
  return Child{.pid = request.pid, .process = Fd{process}};
}

}  // namespace lastref::os
