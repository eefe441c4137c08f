// ProgressTimeout: how long a run may make no progress before it is called a hang.
//
// Time alone is no criterion: a machine that is busy otherwise may leave a process without a
// processor, or waiting for its disk, for a minute. A process that could continue if the machine
// let it is therefore waited for. Only one that waits for something else, or uses up its own
// processor time, hangs.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include <lastref/os.hpp>

namespace lastref::harness {

/// What some processes do at one moment.
struct Doing {
  /// One of their threads runs or waits for a processor, or is in an uninterruptible wait, as for a
  /// disk. proc(5): states R and D.
  bool could_go_on = false;
  /// Processor time that the living ones have used.
  std::chrono::milliseconds used{};
};

/// What these processes and all their descendants do. A process that has exited does nothing.
Doing doing_of(std::span<const os::Pid> processes);

/// Whether every thread of a process is stopped by a signal, or dead. After a SIGSTOP the threads
/// continue until one of them has taken the signal.
bool is_stopped(os::Pid process);

class ProgressTimeout {
 public:
  static constexpr std::chrono::seconds at_rest{20};  ///< With no process that could continue.
  static constexpr std::chrono::seconds at_work{20};  ///< Of processor time.
  static constexpr std::chrono::minutes at_most{15};  ///< Regardless of the machine's load.

  /// There was progress: restarts the measurement.
  void reset() noexcept { *this = {}; }

  /// Whether it is worth the cost to inspect what they do.
  bool wants_to_know() const noexcept { return waited_ >= at_rest; }

  /// They have made no progress for `more` time.
  void wait(std::chrono::milliseconds more) noexcept { waited_ += more; }

  /// Why to stop waiting, for reports; empty while there is a reason to wait.
  std::string ends_with(const Doing& doing);

 private:
  std::chrono::milliseconds waited_{};
  std::chrono::milliseconds used_before_{-1};
};

/// Waits with the same timeout for a child of ours to be dead, without reaping it. False if it does
/// not die.
bool wait_dead(os::Pid child);

}  // namespace lastref::harness
