#include "property_tests/support/process_group.hpp"

#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
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

std::size_t running_threads() {
  constexpr unsigned exiting = 0x4;  // PF_EXITING of the kernel: set before a join can return
  std::size_t running = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream stat(thread.path() / "stat");
    std::string line;
    std::getline(stat, line);
    // Fields 3 to 9. The name before them may contain any character.
    std::istringstream fields(line.substr(std::min(line.rfind(')') + 1, line.size())));
    char state = 'X';
    int skipped = 0;
    unsigned flags = exiting;
    fields >> state >> skipped >> skipped >> skipped >> skipped >> skipped >> flags;
    if (fields && (flags & exiting) == 0) {
      ++running;
    }
  }
  return running;
}

bool become_nobody() {
  constexpr unsigned nobody = 65534;
  return ::setgroups(0, nullptr) == 0 && ::setresgid(nobody, nobody, nobody) == 0 &&
         ::setresuid(nobody, nobody, nobody) == 0;
}

}  // namespace lastref::pretend
