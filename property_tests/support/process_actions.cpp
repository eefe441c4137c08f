#include "property_tests/support/process_actions.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

#include <gtest/gtest.h>

namespace lastref::pretend {
namespace {

sigset_t broken_pipe_alone() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGPIPE);
  return signals;
}

constexpr int threw = 2;

int code_of_body(const std::function<int()>& body) {
  try {
    return body();
  } catch (const std::exception& thrown) {
    std::cerr << thrown.what() << '\n';
    return threw;
  }
}

/// Returns the previous limit.
std::uint64_t limit_descriptors(std::uint64_t most) {
  rlimit limit{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const std::uint64_t before = std::exchange(limit.rlim_cur, most);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  return before;
}

}  // namespace

os::Pid fork_here() {
  return ::fork();
}

os::Pid run_in_copy(const std::function<int()>& body) {
  const os::Pid parent = ::getpid();
  const os::Pid copy = fork_here();
  if (copy != 0) {
    return copy;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have been killed before that.
  leave(::getppid() == parent ? code_of_body(body) : threw);
}

void give_way() {
  constexpr int last_of_all = 19;  // setpriority(2)
  ::setpriority(PRIO_PROCESS, 0, last_of_all);
}

std::optional<int> run_as_first_process(const std::function<int()>& body) {
  constexpr int not_allowed = 77;
  const os::Pid copy = run_in_copy([&] {
    if (::unshare(CLONE_NEWPID) != 0) {
      return not_allowed;
    }
    const os::Pid first = fork_here();
    if (first == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      // Not by exit: a leak checker would miss the memory of threads that are not in the copy.
      ::_exit(code_of_body(body));
    }
    ::_exit(exit_code_of(first));
  });
  const int code = exit_code_of(copy);
  return code == not_allowed ? std::nullopt : std::optional(code);
}

void daemonise_until(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    if (::fork() == 0) {
      while (::access(path.c_str(), F_OK) != 0) {
        ::poll(nullptr, 0, 1);
      }
    }
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

void hang() {
  for (;;) {
    ::pause();
  }
}

void execute_endless_program() {
  ::execl("/usr/bin/tail", "tail", "-f", "/dev/null", nullptr);
}

void leave(int code) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the test checks what happens then.
  std::exit(code);
}

void close_here(int fd) {
  ::close(fd);
}

void send_signal(os::Pid pid, int number) {
  ::kill(pid, number);
}

void wait_until_stopped(os::Pid process) {
  // It need not be a child. proc(5), /proc/pid/stat, field 3; the name before it is in brackets.
  const std::string path = "/proc/" + std::to_string(process) + "/stat";
  until([&] {
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::size_t at = text.rfind(')');
    return at == std::string::npos || text.substr(at + 2, 1) == "T";
  });
}

void wait_until_dead(os::Pid process) {
  const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  pollfd item{.fd = fd, .events = POLLIN, .revents = 0};
  while (fd >= 0 && ::poll(&item, 1, -1) < 0 && errno == EINTR) {
  }
  ::close(fd);
}

int exit_code_of(os::Pid child) {
  int status = 0;
  while (::waitpid(child, &status, 0) != child && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void reap_until(const std::atomic<bool>& over) {
  while (!over) {
    ::waitpid(-1, nullptr, WNOHANG);
  }
}

std::uint64_t number_from_copy(Fork fork, const std::function<std::uint64_t()>& body) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) < 0) {
    return 0;
  }
  const auto copy = fork == Fork::plain
                        ? ::fork()
                        : static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  std::uint64_t number = 0;
  if (copy == 0) {
    number = body();
    const auto written = ::write(ends[1], &number, sizeof number);
    ::_exit(written < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  if (::read(ends[0], &number, sizeof number) != sizeof number) {
    number = 0;
  }
  ::close(ends[0]);
  ::waitpid(copy, nullptr, 0);
  return number;
}

void set_variable(const std::string& name, const std::string& value) {
  if (value.empty()) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): between tests there are no other threads.
    ::unsetenv(name.c_str());
  } else {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): as above.
    ::setenv(name.c_str(), value.c_str(), 1);
  }
}

bool make_fifo(const std::string& path) {
  return ::mkfifo(path.c_str(), 0666) == 0;
}

void hold_back_a_broken_pipe() {
  const sigset_t signals = broken_pipe_alone();
  EXPECT_EQ(::pthread_sigmask(SIG_BLOCK, &signals, nullptr), 0);
  EXPECT_EQ(::raise(SIGPIPE), 0);
}

bool take_broken_pipe() {
  const sigset_t signals = broken_pipe_alone();
  constexpr timespec at_once{};
  const bool was_there = ::sigtimedwait(&signals, nullptr, &at_once) == SIGPIPE;
  EXPECT_EQ(::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr), 0);
  return was_there;
}

void allow_addresses(std::uint64_t bytes) {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit limit = {.rlim_cur = most, .rlim_max = most};
  ::setrlimit(RLIMIT_AS, &limit);
}

void fill_maps() {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  // Adjacent maps with different protections are not merged.
  for (bool readable = false;; readable = !readable) {
    const int protection = readable ? PROT_READ : PROT_NONE;
    if (::mmap(nullptr, page, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) {
      return;
    }
  }
}

FullStandardError::FullStandardError() : usual_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_NONBLOCK) == 0) {
    const std::string line(4096, '.');
    while (::write(ends[1], line.data(), line.size()) > 0) {
    }
    ::fcntl(ends[1], F_SETFL, 0);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
    read_ = ends[0];
  }
}

FullStandardError::~FullStandardError() {
  ::dup2(usual_, STDERR_FILENO);
  ::close(usual_);
  ::close(read_);
}

std::string FullStandardError::drain() const {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t size = 0; (size = ::read(read_, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return text;
}

std::string said_by_shell(const std::string& script) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t copy = ::fork();
  if (copy == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    ::_exit(1);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 4096> buffer{};
  for (ssize_t size = 0; (size = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    said.append(buffer.data(), static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  ::waitpid(copy, nullptr, 0);
  return said;
}

int run_as(unsigned user,
           const std::string& program,
           const std::string& argument,
           const std::string& path) {
  std::string name = program;
  std::string own_argument = argument;
  std::string variable = "PATH=" + path;
  std::array<char*, 3> arguments = {name.data(), own_argument.data(), nullptr};
  std::array<char*, 2> variables = {variable.data(), nullptr};
  constexpr int could_not = 126;
  const pid_t copy = ::fork();
  if (copy == 0) {
    if (::setgroups(0, nullptr) == 0 && ::setresgid(user, user, user) == 0 &&
        ::setresuid(user, user, user) == 0) {
      ::execve(name.c_str(), arguments.data(), variables.data());
    }
    ::_exit(could_not);
  }
  int status = 0;
  ::waitpid(copy, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

FewDescriptors::FewDescriptors(std::uint64_t most) : usual_(limit_descriptors(most)) {}

FewDescriptors::~FewDescriptors() {
  limit_descriptors(usual_);
}

}  // namespace lastref::pretend
