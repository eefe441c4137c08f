#include "property_tests/backends/process_words.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
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

/// Gives the limit there was.
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
  constexpr int threw = 2;
  int code = threw;
  // The parent may have been killed before that.
  if (::getppid() == parent) {
    try {
      code = body();
    } catch (const std::exception& thrown) {
      std::cerr << thrown.what() << '\n';
    }
  }
  leave(code);
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

void leave(int code) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): what happens then is what is to be seen.
  std::exit(code);
}

void close_here(int fd) {
  ::close(fd);
}

void send_signal(os::Pid pid, int number) {
  ::kill(pid, number);
}

void wait_until_stopped(os::Pid child) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
}

void wait_until_dead(os::Pid child) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
}

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
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

FewDescriptors::FewDescriptors(std::uint64_t most) : usual_(limit_descriptors(most)) {}

FewDescriptors::~FewDescriptors() {
  limit_descriptors(usual_);
}

}  // namespace lastref::pretend
