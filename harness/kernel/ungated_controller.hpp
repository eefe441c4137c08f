// UngatedController: runs an ungated run from its first process to its last.
//
// It kills processes at random times. When none could continue for a while, it notifies a process
// that awaits a signal that the signal will not come, or continues the stopped processes. If that
// does not help, it reports a hang.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "harness/instrument/deadlock_resolver.hpp"
#include "harness/kernel/process.hpp"
#include "harness/kernel/progress_timeout.hpp"
#include "harness/platform/unique_fd.hpp"

namespace lastref::harness {

class UngatedController final : public DeadlockResolver {
 public:
  /// The seed determines which processes are killed, and when.
  UngatedController(RunContext& context, std::uint64_t seed, const RandomEvents& events);

  /// From the start of the root to the last death. The control block is reset.
  void run();

  const std::vector<std::string>& killed() const noexcept { return killed_; }
  std::chrono::microseconds took() const { return took_; }

 private:
  ControlBlock& control_block() noexcept { return context_.run.control_block(); }
  std::span<Process> processes() noexcept;
  /// False when no process is left: all orphans are children of this process.
  bool reap();
  void note_deaths();
  void note_death(std::uint16_t at);
  void kill_if_due();
  void check_progress();
  /// Whether a running process will continue by itself, because a time limit expires.
  bool has_timed_waits();
  void give_up(const std::string& why);

  /// There is no point in time at which the tracker could be asked, and no planned fault.
  bool has_moved() override { return false; }
  bool ask_tracker() override { return false; }
  bool let_doomed_go() override { return false; }
  bool fail_one_waiter() override;
  bool let_stopped_go() override;

  RunContext& context_;
  std::mt19937_64 chance_;
  std::vector<std::chrono::microseconds> due_;
  std::vector<std::string> killed_;
  std::map<std::uint16_t, UniqueFd> descriptors_;  ///< of processes that have been seen alive
  std::map<os::Pid, int> statuses_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::microseconds took_{};
  std::uint32_t noted_ = 0;
  int checks_ = 0;
  int at_rest_ = 0;
  ProgressTimeout timeout_;
};

}  // namespace lastref::harness
