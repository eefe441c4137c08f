#include "bench/watchers.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <csignal>
#include <cstddef>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "harness/warden/notifier.hpp"
#include "harness/warden/warden.hpp"

namespace lastref::bench {
namespace {

namespace warden = harness::warden;

using Command = std::vector<std::string>;

/// These are not yet in the headers of Linux 6.1. linux/seccomp.h
constexpr unsigned long set_flags = SECCOMP_IOW(4, std::uint64_t);
constexpr std::uint64_t sync_wake_up = 1;

[[noreturn]] void become(const Command& command) {
  std::vector<char*> words;
  std::ranges::transform(command, std::back_inserter(words), [](const std::string& word) {
    return const_cast<char*>(word.c_str());
  });
  words.push_back(nullptr);
  ::execvp(words.front(), words.data());
  // Not exit_group(2), because the filter of a bare notification stops it.
  for (;;) {
    ::syscall(SYS_exit, 127);
  }
}

/// Runs the program that makes the calls to its end, and reads its result.
std::optional<double> told_by(const Measured& what,
                              const std::function<void(const Command&)>& run) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return std::nullopt;
  }
  const int tell = ::dup(ends[1]);  // The copy stays open over execve(2).
  ::close(ends[1]);
  run(command_that_makes(what.call, what.count, tell));
  ::close(tell);
  double each = 0;
  const bool is_told = ::read(ends[0], &each, sizeof each) == sizeof each;
  ::close(ends[0]);
  return is_told ? std::optional(each) : std::nullopt;
}

void run_in_a_child(const std::function<void()>& body) {
  const int child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

void run_with(const Command& command, const std::function<void()>& prepare) {
  run_in_a_child([&] {
    prepare();
    become(command);
  });
}

void take_filter_that_allows_all() {
  sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_fprog program{.len = 1, .filter = &allow};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
    ::_exit(1);
  }
}

/// The shortest filter that stops this call and exit_group(2).
warden::Filter filter_that_stops(int number) {
  const std::array<sock_filter, 5> steps = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
  }};
  warden::Filter filter;
  std::ranges::transform(steps, std::back_inserter(filter), [](const sock_filter& step) {
    return std::bit_cast<std::uint64_t>(step);
  });
  return filter;
}

void let_all_go(int listener) {
  ::ioctl(listener, set_flags, sync_wake_up);
  // Newer kernels report when no process is left. On others, the program's last call ends the loop.
  for (int number = -1; number != SYS_exit_group;) {
    seccomp_notif got{};
    if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &got) != 0) {
      return;
    }
    seccomp_notif_resp response{
        .id = got.id, .val = 0, .error = 0, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
    number = got.data.nr;
  }
}

void let_go_each(const Command& command, int number) {
  const warden::Filter filter = filter_that_stops(number);
  const int listener = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  // A child that shares our table of descriptors until it executes the program: its dup3(2) has
  // changed ours when we continue. clone(2)
  const auto child = static_cast<int>(
      ::syscall(SYS_clone, CLONE_FILES | CLONE_VFORK | SIGCHLD, nullptr, nullptr, nullptr, 0));
  if (child == 0) {
    const int taken = warden::take_filter(filter);
    if (taken >= 0) {
      ::dup3(taken, listener, O_CLOEXEC);
      ::close(taken);
      become(command);
    }
    ::_exit(1);
  }
  let_all_go(listener);
  ::close(listener);
  ::waitpid(child, nullptr, 0);
}

/// A tracer and its tracee take turns, which is cheapest on one processor. The kernel does not know
/// that, so placement would be random.
void stay_on_this_processor() {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &only);
  ::sched_setaffinity(0, sizeof only, &only);
}

void trace(const Command& command) {
  const int child = ::fork();
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    become(command);
  }
  int status = 0;
  bool has_options = false;
  while (::waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    if (!std::exchange(has_options, true)) {
      ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
    }
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  }
}

std::optional<double> strace(const Measured& what, const Command& words) {
  const std::string name(what.watched.system_call);
  Command command{"strace", "-f", "-o", "/dev/null", "-e", "trace=" + name, "-e"};
  command.push_back("inject=" + name + ":error=EIO:when=65535");
  command.insert(command.end(), words.begin(), words.end());
  return told_by(what, [&](const Command& program) {
    command.insert(command.end(), program.begin(), program.end());
    run_with(command, [] {
      stay_on_this_processor();
      // Hides messages; if strace is missing or does not know an option, there is no result.
      ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    });
  });
}

}  // namespace

Notification notification_here() {
  const int child = ::fork();
  if (child == 0) {
    const int listener = warden::take_filter(filter_that_stops(SYS_flock));
    const bool in_turn = listener >= 0 && ::ioctl(listener, set_flags, sync_wake_up) == 0;
    const auto here = listener < 0 ? Notification::none
                      : in_turn    ? Notification::in_turn
                                   : Notification::between_processors;
    ::syscall(SYS_exit, static_cast<int>(here));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return static_cast<Notification>(WEXITSTATUS(status));
}

std::optional<double> with_nobody(const Measured& what) {
  return told_by(what, [](const Command& command) { run_with(command, [] {}); });
}

std::optional<double> with_a_filter(const Measured& what) {
  return told_by(what,
                 [](const Command& command) { run_with(command, take_filter_that_allows_all); });
}

std::optional<double> with_bare_notification(const Measured& what) {
  return told_by(what, [&](const Command& command) { let_go_each(command, what.watched.number); });
}

std::optional<double> with_warden(const Measured& what) {
  return told_by(what, [](const Command& command) {
    static_cast<void>(warden::watch({.command = command, .faults = {}}));
  });
}

std::optional<double> with_ptrace(const Measured& what) {
  return told_by(what, [](const Command& command) {
    run_in_a_child([&] {
      stay_on_this_processor();
      trace(command);
    });
  });
}

std::optional<double> with_strace(const Measured& what) {
  return strace(what, {});
}

std::optional<double> with_strace_and_filter(const Measured& what) {
  return strace(what, {"--seccomp-bpf"});
}

}  // namespace lastref::bench
