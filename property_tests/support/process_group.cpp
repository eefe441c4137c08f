#include "property_tests/support/process_group.hpp"

#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace lastref::pretend {

namespace {

/// Names the process that adopts, for processes that must know whether it has adopted them yet.
constexpr const char* adopter = "LASTREF_TEST_ADOPTER";

}  // namespace

void lead_group() {
  ::setpgid(0, 0);
  // A process started by a hop is first the hop's child. The hop's end is not the test's end.
  const char* const test = std::getenv(adopter);
  while (test != nullptr && std::to_string(::getppid()) != test) {
    ::sched_yield();
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::setenv(adopter, std::to_string(::getpid()).c_str(), 1);
}

bool kill_group(os::Pid leader) {
  const bool killed = ::kill(-leader, SIGKILL) == 0;
  while (::waitpid(-leader, nullptr, 0) > 0) {
  }
  return killed;
}

void bury_all() {
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
}

bool become_nobody() {
  constexpr unsigned nobody = 65534;
  return ::setgroups(0, nullptr) == 0 && ::setresgid(nobody, nobody, nobody) == 0 &&
         ::setresuid(nobody, nobody, nobody) == 0;
}

}  // namespace lastref::pretend
