#include "harness/kernel/bare_tree.hpp"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>

#include "harness/platform/child_process.hpp"

namespace lastref::harness {
namespace {

bool ends_well(int pid) {
  const std::optional<int> status = reap(pid);
  return status && (WIFSIGNALED(*status) || WEXITSTATUS(*status) == 0);
}

/// The root of a tree: true if it had its three children and they have exited.
bool live_as_root() {
  std::array<int, 3> children{};
  bool good = true;
  for (int& child : children) {
    child = ::fork();
    if (child == 0) {
      for (;;) {
        ::pause();
      }
    }
    good = good && child > 0;
  }
  for (const int child : children) {
    // Zero or less would name a group, or all processes.
    if (child > 0) {
      ::kill(child, SIGKILL);
      good = ends_well(child) && good;
    }
  }
  return good;
}

bool run_tree() {
  const int root = start_child([] { return live_as_root() ? 0 : 1; });
  return root > 0 && ends_well(root);
}

/// Pins the calling thread to the first core that it may use, for a scope.
class OnOneCore {
 public:
  OnOneCore() {
    if (::sched_getaffinity(0, sizeof before_, &before_) != 0) {
      return;
    }
    std::size_t core = 0;
    while (core + 1 < CPU_SETSIZE && CPU_ISSET(core, &before_) == 0) {
      ++core;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    pinned_ = ::sched_setaffinity(0, sizeof one, &one) == 0;
  }
  OnOneCore(const OnOneCore&) = delete;
  OnOneCore& operator=(const OnOneCore&) = delete;
  ~OnOneCore() {
    if (pinned_) {
      ::sched_setaffinity(0, sizeof before_, &before_);
    }
  }

 private:
  cpu_set_t before_{};
  bool pinned_ = false;
};

}  // namespace

double bare_loops_per_second(std::size_t loops) {
  const OnOneCore pinned;
  const auto started = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < loops; ++i) {
    if (!run_tree()) {
      return 0;
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  return static_cast<double>(loops) / took.count();
}

}  // namespace lastref::harness
