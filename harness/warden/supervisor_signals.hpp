// SupervisorSignals: the signal handling of a supervisor while it watches.
#pragma once

#include <memory>

namespace lastref::harness::warden {

/// Interrupts our blocking calls periodically (SIGALRM), ignores SIGPIPE, and sets SIGCHLD to its
/// default, whatever our parent process had set. A program that was started before is not affected.
class SupervisorSignals {
 public:
  SupervisorSignals();
  SupervisorSignals(const SupervisorSignals&) = delete;
  SupervisorSignals& operator=(const SupervisorSignals&) = delete;
  ~SupervisorSignals();

 private:
  struct Before;
  std::unique_ptr<Before> before_;
};

/// Whether the signal means that a program is broken, not that it was asked to end.
bool is_crash(int signal) noexcept;

}  // namespace lastref::harness::warden
