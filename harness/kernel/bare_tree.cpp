#include "harness/kernel/bare_tree.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "harness/platform/child_process.hpp"
#include "harness/platform/clock.hpp"
#include "harness/platform/one_processor.hpp"

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

}  // namespace

double bare_loops_per_second(std::size_t loops) {
  OneProcessor here;
  here.stay();
  const double started = seconds_now();
  for (std::size_t i = 0; i < loops; ++i) {
    if (!run_tree()) {
      return 0;
    }
  }
  return static_cast<double>(loops) / (seconds_now() - started);
}

}  // namespace lastref::harness
