#include "property_tests/process_group.hpp"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace lastref::pretend {

void lead_group() {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
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
