// kernel_os_threads: threads and monitors, the signals that a thread takes, and those that a child
// starts with.
#pragma once

#include <signal.h>

#include <lastref/os.hpp>

namespace lastref::os {

/// The number in signal(7).
int number_of(Signal signal) noexcept;

sigset_t every_signal() noexcept;

/// The signals that a thread of ours blocks. A blocked fault would kill the program although it may
/// have a handler for it. sigprocmask(2), "NOTES"
sigset_t all_but_its_own() noexcept;

/// The signals that a child of the program would have blocked if the program had started it here:
/// our own threads block signals that are not for them, and no child shall inherit that.
sigset_t blocked_for_program() noexcept;

/// Ignores SIGXFSZ, unless the program has an action of its own.
void ignore_size_signal() noexcept;

/// Whether we, and not the program around us, have set SIGXFSZ to be ignored.
bool is_size_signal_ours() noexcept;

/// Blocks these signals and no others for a scope.
class WithSignals {
 public:
  explicit WithSignals(const sigset_t& blocked) noexcept {
    ::pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  WithSignals(const WithSignals&) = delete;
  WithSignals& operator=(const WithSignals&) = delete;
  ~WithSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace lastref::os
