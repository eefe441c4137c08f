// controller: runs a run from its first process to its last.
//
// It has the turn when a process has to die, and no actor continues before that process is really
// dead. Its process descriptor becomes readable when all its threads have exited; then all its
// descriptors and locks are released. When no actor can continue, the controller asks the tracker
// for its counts, notifies waiting actors that their signal will not come, and continues stopped
// processes. If none of that helps, it reports a hang.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/instrument/deadlock_resolver.hpp"
#include "harness/kernel/process.hpp"
#include "harness/oracle/file_look.hpp"
#include "harness/platform/unique_fd.hpp"

namespace lastref::harness {

class KernelController final : public DeadlockResolver {
 public:
  /// `choices` answer the questions if the control_block asks the controller; else they are null.
  KernelController(RunContext& context, bool has_own_pids, RunChoices* choices) noexcept
      : context_(context), has_own_pids_(has_own_pids), choices_(choices) {}

  /// Runs from the start of the root to the last death. The control_block is reset and has its
  /// plan.
  void run();
  /// Runs the next start of the program, which sweeps up what the run has left, until it exits. The
  /// run is over. True if a fault was applied to it, so that it may have left something itself.
  bool run_next_start();
  /// The contents of the run's files each time they were read, for use after the run.
  std::vector<FileLook> take_files() noexcept { return std::move(files_); }

 private:
  ControlBlock& control_block() noexcept { return context_.run.control_block(); }
  bool anybody_lives() noexcept;
  /// From the start of a process in `role` to the last death.
  void see_through(const char* role);
  /// Waits for the turn. False when another event was handled instead.
  bool take();
  void serve_request();
  /// Lets the next actor continue, or makes sure that one can.
  void go_on();
  void when_quiet();
  bool has_moved() override;
  bool ask_tracker() override;
  bool let_doomed_go() override;
  bool fail_one_waiter() override;
  bool let_stopped_go() override;

  /// Returns when the process is really dead.
  void confirm_death(std::uint16_t at, std::string_view how);
  /// The requesting process has ended, or kills itself.
  void confirm_requested_death();
  void kill_one(std::uint16_t at);
  void kill_role(std::string_view role);
  void kill_everybody(std::string_view how);
  void stop_role(std::string_view role, bool stops);
  void interrupt_everybody();
  /// Returns when what was sent to the process has taken effect: it is dead or stopped.
  void settle(std::uint16_t at);
  void resume(std::uint16_t at);
  bool confirm_crash();
  void give_up(const std::string& why);
  std::string who_waits();
  void reap();

  /// Asks the tracker for its counts, and records the answer as `fact` if there is one. The next
  /// actor is the one that would have been next anyway. False when the run took another course
  /// meanwhile, because the tracker crashed while answering.
  bool observe(std::string_view fact);
  /// The same when other actors may be about to send something.
  bool observe_at_once();
  /// The same right after a kill, in the plans that ask then.
  bool show_death();
  /// Saves the contents of the existing files. A holder of record locks there must not call it:
  /// closing a file drops them.
  void look_at_files();
  /// Lets the tracker run until it waits again. False as above.
  bool let_tracker_go();
  /// To be called before another process gets the turn: it must not meet a half-closed connection.
  void stop_observing() noexcept;

  RunContext& context_;
  bool has_own_pids_;
  RunChoices* choices_;
  std::uint64_t observed_at_ = 0;
  bool death_unseen_ = false;
  std::vector<FileLook> files_;
  UniqueFd question_;  ///< The connection of a question to the tracker, if there is one.
};

}  // namespace lastref::harness
