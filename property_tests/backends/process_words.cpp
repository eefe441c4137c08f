#include "property_tests/backends/process_words.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace lastref::pretend {

os::Pid fork_here() {
  return ::fork();
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

}  // namespace lastref::pretend
