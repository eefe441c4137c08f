// SerialInterceptor: the interceptor of one process of a kernel run. Only one thread of the whole
// run executes at a time.
//
// Its counterpart is the controller in the fork server. Both work on the same ControlBlock; the
// holder of the turn may change it. A thread that cannot continue passes the turn to the next actor
// that can, or to the controller if none can.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "harness/instrument/plan_interceptor.hpp"
#include "harness/kernel/run_member.hpp"

namespace lastref::harness {

/// The pid, in the world's namespace, of one of our process descriptors; 0 if it refers to none.
os::Pid pid_in_world(os::Fd process) noexcept;

class SerialInterceptor final : public PlanInterceptor, public RunMember {
 public:
  /// `faults` are those of the run's plan, and outlive it.
  SerialInterceptor(SharedRun& run, std::span<const Fault> faults, std::uint16_t process) noexcept;

  /// Sets the identity of the process and of the calling thread; also after an unannounced fork.
  void become(std::uint16_t process, ActorId actor) noexcept;

  /// The orderly end of the process: exits without destructors.
  [[noreturn]] void end(int code) noexcept;

  void tell(std::string_view signal) noexcept override;
  bool await(std::string_view signal) noexcept override;
  void send(std::string_view signal, std::string_view bytes) noexcept override;
  std::optional<std::string> receive(std::string_view signal) noexcept override;
  void stop(std::string_view role) override { ask_controller(Request::stop_role, role); }
  bool resume(std::string_view role) override;
  void kill(std::string_view role) override { ask_controller(Request::kill_role, role); }
  void interrupt_all() override { ask_controller(Request::interrupt_all); }
  std::size_t processes(std::string_view role) override;
  bool fork_stranger(RunContext& context, const std::function<void()>& body) override;
  void note(std::string_view operation,
            std::string_view text,
            bool begins,
            int error) noexcept override;
  void fact(std::string_view name,
            std::string_view text,
            std::string_view object) noexcept override;

  std::string_view role_of(os::Pid pid) const noexcept override;
  void closes(os::Fd fd) noexcept override;
  void bound(std::string_view path) noexcept override;
  void signals(os::Fd process, os::Signal signal) noexcept override;
  void signalled(os::Fd process, os::Signal signal) noexcept override;

  bool serialises() const noexcept override { return true; }
  void ask(ThreadStep step, std::uint64_t object) noexcept override;
  bool wait_ready(std::span<const os::PollItem> items,
                  std::optional<os::Instant> deadline) noexcept override;
  void wait_for(Wait reason, const void* thing) noexcept override;
  void wake(Wait reason, const void* thing) noexcept override;
  os::Instant now() noexcept override;
  void fill(os::Buffer into) noexcept override;
  ActorId new_actor() noexcept override;
  void drop_actor(ActorId actor) noexcept override;
  void actor_begun() noexcept override;
  void actor_begins(ActorId actor) noexcept override;
  void actor_ends() noexcept override;
  void join(ActorId actor) noexcept override;

 private:
  /// The events that an actor's epoll waits for.
  struct Interest {
    int fd;
    std::uint32_t events;
  };

  /// Offers the turn to other threads, before a step.
  void ask(NextStep step) noexcept;
  ControlBlock& control_block() const noexcept { return run().control_block(); }
  /// The actor of the calling thread.
  ActorId actor() const noexcept;
  Actor& self() noexcept { return control_block().actors[actor()]; }
  /// Returns when it is done, with the caller's turn as it was.
  void ask_controller(Request request) noexcept;
  void ask_controller(Request request, std::string_view role) noexcept;
  /// Passes the turn on and returns when it has it again. The state is the reason.
  void pass_on(ActorState state) noexcept;
  void set_interests(std::span<const os::PollItem> items) noexcept;
  PendingFaults& pending() noexcept override;
  void crosses(const PendingCall* pending_call) noexcept override;
  void let_others_go_first(const PendingCall& pending_call) noexcept override;
  Record* claim() noexcept override;
  void publish(Record& record) noexcept override;
  std::size_t records() const noexcept override { return run().journal().size(); }
  void note_fired(FaultKind kind, std::size_t index) noexcept override;
  void look() noexcept override;
  void interrupt() noexcept override;
  void pause() noexcept override;
  bool ends_early() noexcept override;
  void move_clock(os::Instant to) noexcept override;
  [[noreturn]] void die(bool whole_tree) noexcept override;
  void give_up() noexcept override;
  /// The live process of the run that a process descriptor refers to, if any.
  std::optional<std::uint16_t> live_process(os::Fd process) noexcept;
  [[noreturn]] void halt() noexcept;
  /// Applies to allocations of the calling thread, from now on.
  void count_allocations() noexcept;

  std::span<const Fault> faults_;
  std::uint64_t chance_ = 0;
  std::array<std::vector<Interest>, actors_max> interests_;
};

}  // namespace lastref::harness
