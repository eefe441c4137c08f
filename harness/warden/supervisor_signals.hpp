// SupervisorSignals: what a supervisor hears while it watches.
#pragma once

#include <memory>
#include <string>

namespace lastref::harness::warden {

/// Ends what waits in us now and then, lets us write to pipes that nobody reads, and lets us hear
/// of children that end, whatever who started us wanted to hear of. A program that is started
/// before has none of it.
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

/// Of a broken program, and not of one that was told to end.
bool is_crash(int signal) noexcept;
/// "SEGV"
std::string name_of_signal(int signal);

}  // namespace lastref::harness::warden
