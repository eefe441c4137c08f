#include "property_tests/impl/cache/forked.hpp"

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

namespace lastref::pretend {

ForkedEnd run_forked(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child < 0) {
    throw std::runtime_error("cannot fork");
  }
  if (child == 0) {
    ::_exit(body() ? 0 : 1);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) {
    throw std::runtime_error("a copy that cannot be waited for");
  }
  return {.was_killed = WIFSIGNALED(status), .said = WIFEXITED(status) && WEXITSTATUS(status) == 0};
}

std::size_t heap() {
  const auto held = ::mallinfo2();
  return held.uordblks + held.hblkhd;
}

void die() {
  ::kill(::getpid(), SIGKILL);
}

}  // namespace lastref::pretend
