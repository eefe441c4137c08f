#include "harness/warden/watchdog.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <vector>

#include "harness/platform/child_process.hpp"
#include "harness/platform/proc.hpp"
#include "harness/warden/fault_injector.hpp"

namespace lastref::harness::warden {
namespace {

/// Signals by which a user or process asks us to end.
constexpr int of_end[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

/// An ignored signal would still be returned by sigtimedwait(2), because it is blocked.
sigset_t awaited() noexcept {
  sigset_t all{};
  ::sigemptyset(&all);
  ::sigaddset(&all, SIGCHLD);
  for (const int signal : of_end) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) {
      ::sigaddset(&all, signal);
    }
  }
  return all;
}

/// Waits until the child has ended. Forwards signals that were sent to us alone; a terminal sends
/// to all.
int status_of(int child, const sigset_t& signals) {
  int status = 0;
  for (;;) {
    const int ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno == ECHILD)) {
      return status;
    }
    constexpr timespec at_most{.tv_sec = 1, .tv_nsec = 0};
    siginfo_t what{};
    const int signal = ::sigtimedwait(&signals, &what, &at_most);
    if (signal > 0 && signal != SIGCHLD && what.si_code != SI_KERNEL) {
      ::kill(child, SIGTERM);
    }
  }
}

}  // namespace

int with_watchdog(const std::function<int()>& work, int died) {
  const sigset_t signals = awaited();
  sigset_t before{};
  ::pthread_sigmask(SIG_BLOCK, &signals, &before);
  // Watched orphans are reparented to us when the supervisor dies.
  int was_reaper = 0;
  ::prctl(PR_GET_CHILD_SUBREAPER, &was_reaper, 0, 0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const std::vector<int> ours = children_of(::getpid());
  const int child = start_child([&] {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    // Signals that end a process by default do not end the child: they interrupt its calls, and the
    // parent forwards them to it.
    for (const int signal : of_end) {
      struct sigaction action {};
      ::sigaction(signal, nullptr, &action);
      if (action.sa_handler == SIG_DFL) {
        action.sa_handler = [](int) {};
        ::sigaction(signal, &action, nullptr);
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return work();
  });
  const int status = child < 0 ? 0 : status_of(child, signals);
  const bool has_ended = child > 0 && WIFEXITED(status);
  if (child > 0 && !has_ended) {
    signal_descendants(SIGKILL, {.all = ours});
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, was_reaper, 0, 0, 0);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return has_ended ? WEXITSTATUS(status) : died;
}

}  // namespace lastref::harness::warden
