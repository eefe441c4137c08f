// controller: sees a run through, from its first process to its last.
//
// It has the turn whenever somebody has to die, and nobody goes on before the dead are really
// dead: a process descriptor is readable when all threads are gone, and with them all descriptors
// and locks. When nobody can go on it asks the tracker what it counts, tells those who await a
// word that it will not come, lets stopped processes go, and, if that does not help, calls it a
// hang.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/instrument/standstill.hpp"
#include "harness/kernel/process.hpp"
#include "harness/oracle/file_look.hpp"

namespace lastref::harness {

class KernelController final : public Standstill {
 public:
  explicit KernelController(RunContext& context, bool has_own_pids) noexcept
      : context_(context), has_own_pids_(has_own_pids) {}

  /// From the birth of the root to the last death. The control_block is reset and has its plan.
  void run();
  /// From the birth of the next start, which sweeps up what the run has left, to its death. The run
  /// is over. True if anything struck it, so that it may have left something itself.
  bool run_next_start();
  /// What was in the files of the run whenever they were looked at, once it is over too.
  std::vector<FileLook> take_files() noexcept { return std::move(files_); }

 private:
  ControlBlock& control_block() noexcept { return context_.run.control_block(); }
  bool anybody_lives() noexcept;
  /// From the birth of a process in `role` to the last death.
  void see_through(const char* role);
  /// Waits for the turn. False when something else happened that was dealt with.
  bool take();
  void serve_request();
  /// Lets the next one go on, or sees to it that somebody can.
  void go_on();
  void when_quiet();
  bool has_moved() override;
  bool ask_tracker() override;
  bool let_doomed_go() override;
  bool let_down_one_who_awaits() override;
  bool let_stopped_go() override;

  /// Comes back when the process is really dead.
  void bury(std::uint16_t at, std::string_view how);
  /// It has ended, or kills itself.
  void bury_who_asked();
  void kill_one(std::uint16_t at);
  void kill_role(std::string_view role);
  void kill_everybody(std::string_view how);
  void stop_role(std::string_view role, bool stops);
  void interrupt_everybody();
  /// Comes back when what the process was sent has had its effect: it is dead, or still.
  void settle(std::uint16_t at);
  bool bury_crashed();
  void give_up(const std::string& why);
  std::string who_waits();
  void reap();

  /// Asks the tracker what it counts, and notes the answer as `fact` if there is one. Who goes on
  /// next is who would have. False when the run has taken another course meanwhile, because the
  /// tracker crashed of it.
  bool observe(std::string_view fact);
  /// The same when others may be about to say something.
  bool observe_at_once();
  /// The same right after a kill, in the plans that ask then.
  bool show_death();
  /// Keeps what is in the files that are there.
  void look_at_files();
  /// Lets the tracker go until it waits again. False as above.
  bool let_tracker_go();
  /// Before anybody else gets the turn: whoever comes next must not meet us half gone.
  void stop_observing() noexcept;

  RunContext& context_;
  bool has_own_pids_;
  std::uint64_t observed_at_ = 0;
  bool death_unseen_ = false;
  std::vector<FileLook> files_;
  int question_ = -1;  ///< The connection of a question to the tracker, while there is one.
};

}  // namespace lastref::harness
