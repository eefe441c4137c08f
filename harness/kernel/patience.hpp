// patience: how long a run may make no progress before it is called a hang.
//
// Time alone does not say: a machine that is busy with something else may leave a process without
// a processor, or waiting for its disk, for a minute. So who could go on if the machine let them is
// waited for, and only what waits for something else, or uses up its own processor time, hangs.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include <lastref/os.hpp>

namespace lastref::harness {

/// What some processes do at a moment.
struct Doing {
  /// A thread of theirs runs, or waits for a processor or, as the kernel does for a disk, in a way
  /// that no signal ends. proc(5): states R and D.
  bool could_go_on = false;
  /// Processor time that those who live have used.
  std::chrono::milliseconds used{};
};

/// The children of all threads of a process.
std::vector<os::Pid> children_of(os::Pid process);

/// What these processes and all that descend from them do. Who is gone does nothing.
Doing doing_of(std::span<const os::Pid> processes);

/// Whether every thread of a process is stopped by a signal, or dead. After a SIGSTOP they run on
/// until one of them has taken the signal.
bool is_stopped(os::Pid process);

class Patience {
 public:
  static constexpr std::chrono::seconds at_rest{20};  ///< With nobody who could go on.
  static constexpr std::chrono::seconds at_work{20};  ///< Of processor time.
  static constexpr std::chrono::minutes at_most{15};  ///< Whatever the machine does meanwhile.

  /// There was progress: begins anew.
  void renew() noexcept { *this = {}; }

  /// Whether it is worth its cost to look at what they do.
  bool wants_to_know() const noexcept { return waited_ >= at_rest; }

  /// They have made no progress for `more` time.
  void wait(std::chrono::milliseconds more) noexcept { waited_ += more; }

  /// Why to wait no longer, for people; empty while there is reason to.
  std::string ends_with(const Doing& doing);

 private:
  std::chrono::milliseconds waited_{};
  std::chrono::milliseconds used_before_{-1};
};

/// Waits for any process to be dead, so long at most. True if it is.
bool is_dead(os::Pid pid, std::chrono::milliseconds patience) noexcept;

/// Waits for a child of ours to be dead, as patiently; not reaped. False if it lives on.
bool outwait(os::Pid child);

}  // namespace lastref::harness
