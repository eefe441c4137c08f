// UngatedMember: a process of an ungated run, which acts on other processes at once.
#pragma once

#include "harness/kernel/run_member.hpp"

namespace lastref::harness {

/// Called once by the maker of the control block.
void make_lock(ControlBlock& control_block) noexcept;

/// Holds the control block of an ungated run during its lifetime. Does nothing in a gated run,
/// where the caller has the turn.
class UngatedLock {
 public:
  explicit UngatedLock(ControlBlock& control_block) noexcept;
  UngatedLock(const UngatedLock&) = delete;
  UngatedLock& operator=(const UngatedLock&) = delete;
  ~UngatedLock();

 private:
  ControlBlock& control_block_;
};

/// Continues a process. False if it is not stopped. The caller holds the control block.
bool end_stop(Process& process) noexcept;

/// Wakes all that wait for a change.
void make_news(ControlBlock& control_block) noexcept;

class UngatedMember final : public RunMember {
 public:
  UngatedMember(SharedRun& run, std::uint16_t process) noexcept : RunMember(run, process) {}

  /// Called by the process itself, before anything else. False if it was killed before it had a
  /// pid.
  bool publish_pid() noexcept;
  /// Called after the last action of the process.
  void note_end(int exit_code) noexcept;
  /// A thread waits with a time limit; the second call ends that.
  void begin_timed_wait() noexcept;
  void end_timed_wait() noexcept;

  void tell(std::string_view signal) noexcept override;
  bool await(std::string_view signal) noexcept override;
  void send(std::string_view signal, std::string_view bytes) noexcept override;
  std::optional<std::string> receive(std::string_view signal) noexcept override;
  /// Returns when they are stopped.
  void stop(std::string_view role) override;
  bool resume(std::string_view role) override;
  /// Returns when they are dead.
  void kill(std::string_view role) override;
  void interrupt_all() override { run().lacks_gate("it interrupts all processes"); }
  std::size_t processes(std::string_view role) override;
  bool fork_stranger(RunContext& context, const std::function<void()>& body) override;

  void note(std::string_view operation,
            std::string_view text,
            bool begins,
            int error) noexcept override;
  void fact(std::string_view name,
            std::string_view text,
            std::string_view object) noexcept override;

 private:
  ControlBlock& control_block() const noexcept { return run().control_block(); }
  bool is_any_dying();
  bool is_any_starting();
};

}  // namespace lastref::harness
