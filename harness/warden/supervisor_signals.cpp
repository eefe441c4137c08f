#include "harness/warden/supervisor_signals.hpp"

#include <sys/time.h>

#include <csignal>

namespace lastref::harness::warden {
namespace {

void take(int signal, void (*handler)(int), struct sigaction& before) noexcept {
  struct sigaction action {};
  action.sa_handler = handler;  // Without SA_RESTART
  ::sigaction(signal, &action, &before);
}

void look_every(suseconds_t microseconds) noexcept {
  const timeval every{.tv_sec = 0, .tv_usec = microseconds};
  const itimerval time{.it_interval = every, .it_value = every};
  ::setitimer(ITIMER_REAL, &time, nullptr);
}

}  // namespace

struct SupervisorSignals::Before {
  struct sigaction alarm {};
  struct sigaction pipe {};
  struct sigaction child {};
  sigset_t mask{};
};

SupervisorSignals::SupervisorSignals() : before_(std::make_unique<Before>()) {
  take(
      SIGALRM, [](int) {}, before_->alarm);
  take(SIGPIPE, SIG_IGN, before_->pipe);
  take(SIGCHLD, SIG_DFL, before_->child);
  sigset_t heard{};
  ::sigemptyset(&heard);
  ::sigaddset(&heard, SIGALRM);
  ::pthread_sigmask(SIG_UNBLOCK, &heard, &before_->mask);
  look_every(20'000);
}

SupervisorSignals::~SupervisorSignals() {
  look_every(0);
  ::sigaction(SIGALRM, &before_->alarm, nullptr);
  ::sigaction(SIGPIPE, &before_->pipe, nullptr);
  ::sigaction(SIGCHLD, &before_->child, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &before_->mask, nullptr);
}

bool is_crash(int signal) noexcept {
  switch (signal) {
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGSEGV:
    case SIGSYS:
    case SIGTRAP:
    case SIGXFSZ:
      return true;
    default:
      return false;
  }
}

}  // namespace lastref::harness::warden
