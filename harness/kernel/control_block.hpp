// ControlBlock: the memory that all processes of a run share. It holds which actor runs, what the
// others wait for, the plan, and the questions with their answers.
//
// In a gated run the holder of the turn may change anything. It passes the turn on by a release
// store to the `turn` of the next actor. The controller (the fork server) has the turn when a
// process has to die, stop, or be waited for, and when no actor can continue.
//
// In an ungated run all processes run at the same time, and the holder of a lock may change
// anything. Turns, plan and questions are not used, and an actor is a thread that awaits a signal.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <string_view>

#include <lastref/os.hpp>

#include "harness/choice/schedule_policy.hpp"
#include "harness/instrument/limits.hpp"
#include "harness/instrument/plan_interceptor.hpp"
#include "harness/journal/journal.hpp"
#include "harness/kernel/signals.hpp"
#include "harness/scenario/fault.hpp"

namespace lastref::harness {

inline constexpr std::size_t actors_max = 64;
inline constexpr std::size_t processes_max = 64;
inline constexpr std::size_t questions_max = 1U << 15U;
inline constexpr std::size_t choice_events_max = 64;

/// Descriptors that every process of a run inherits. The product's numbers stay far below.
namespace harness_fd {
inline constexpr int lowest = 400;
inline constexpr int request = 400;  ///< the server's connection to the program
inline constexpr int standard_error = 401;
inline constexpr int last_pid = 402;
inline constexpr int ballast = 403;       ///< a page of /dev/shm that is always used
inline constexpr int run = 404;           ///< the memory that all processes of a run share
inline constexpr int unread = 405;        ///< a full pipe, in the ambient that needs one,
inline constexpr int reader = 406;        ///< and its other end, from which no process reads
inline constexpr int world_proc = 407;    ///< /proc, with the pids that the controller knows
inline constexpr int pollers = 408;       ///< an epoll of the actors' epolls
inline constexpr int actor_poller = 409;  ///< the first of actors_max epolls
/// Numbers from here on are used temporarily while a process is started.
inline constexpr int aside = actor_poller + static_cast<int>(actors_max);
}  // namespace harness_fd

enum class ActorState : std::uint8_t {
  unused,
  ready,     ///< Runs, or could run.
  polling,   ///< Waits until its epoll reports an event, or until its deadline.
  locking,   ///< Waits for a monitor's lock,
  noticing,  ///< for a notification of the monitor,
  joining,   ///< for the end of a thread,
  awaiting,  ///< for a signal.
  gone,
};

struct Actor {
  std::atomic<std::uint32_t> turn;  ///< a futex: 1 passes the turn
  ActorState state;
  bool late;    ///< Was given the turn because of its deadline, or will get no signal.
  bool doomed;  ///< A planned kill_blocked takes effect when it continues.
  bool paused;  ///< Continues only when no other actor can.
  bool has_deadline;
  std::uint16_t process;
  NextStep step;          ///< Known while it could continue
  std::int64_t deadline;  ///< ns on the run's clock
  const void* thing;      ///< what it waits for, in its process
  NameText name;          ///< the crossing that it is in, for reports,
  ObjectText object;      ///< or the signal that it waits for
};

struct Process {
  static constexpr std::uint16_t no_process = 0xffff;

  os::Pid pid;      ///< In the world's pid namespace,
  os::Pid own_pid;  ///< and in its own one, if that differs.
  bool live;
  bool stopped;
  std::uint16_t stopped_by;  ///< The process that stopped it through the stage; none: no_process
  bool has_ended;            ///< Its body has returned; it exits now.
  std::uint64_t sent;        ///< Signals that processes of the run have sent to it; signal_bit.
  std::int32_t exit_code;
  std::uint16_t parent;
  std::uint16_t incarnation;
  RoleText role;  ///< "tracker#2"
  RoleText base;  ///< "tracker"

  /// Whether `name` refers to it: "tracker" refers to all of them, "tracker#2" to one.
  bool plays(std::string_view name) const noexcept { return base == name || role == name; }

  /// Whether it is the first process of a pid namespace. It ignores signals that it does not catch,
  /// except those that end it from outside. All other processes there die with it.
  /// pid_namespaces(7)
  bool is_first() const noexcept { return own_pid == 1; }
};

/// The bit of a signal, as in /proc. proc(5), "SigPnd"
constexpr std::uint64_t signal_bit(int number) noexcept {
  return std::uint64_t{1} << static_cast<unsigned>(number - 1);
}

/// The request that is passed to the controller together with the turn.
enum class Request : std::uint8_t {
  quiet,      ///< No actor can continue.
  ended,      ///< `process` exits now.
  self_kill,  ///< `process` kills itself now.
  kill_all,
  kill_role,  ///< `role`; then `actor` continues. The same holds for the next three.
  stop_role,
  resume_role,
  interrupt_all,  ///< SIGINT; then `actor` continues if it is alive.
  settle,         ///< A signal was sent to `process`.
  look,           ///< Query the tracker; then `actor`, or the next one, continues.
  endless,        ///< The run does not come to an end.
  choose,         ///< Answer `question`; then the same actor continues.
};

/// A question that the controller answers.
struct PendingQuestion {
  std::uint32_t ready_count;  ///< 0: it is not about actors
  bool is_preemption;
  std::array<ReadyActor, actors_max> ready;
  std::uint32_t answer;
};

/// What the controller has to know before it answers the next question.
struct ChoiceEvent {
  bool is_fault;  ///< A fault was injected; otherwise an actor continues that has no alternative.
  bool is_preemption;
  ReadyActor only;
};

/// What only an ungated run needs.
struct UngatedState {
  /// Space for a pthread_mutex_t, which survives its owner: UngatedLock.
  alignas(std::uint64_t) std::array<std::byte, 64> lock;
  std::atomic<std::uint32_t> changes;  ///< a futex: the number of changes that others may wait for
  std::atomic<bool> has_kills;         ///< The world, not a scenario, has killed a process.
  std::uint64_t noise;                 ///< Seed of the noise; 0: none
  RecordText needs_gate;  ///< Why the scenario cannot be run without gates, if it cannot.
  /// Threads of each process that wait with a time limit, and so continue by themselves.
  std::array<std::atomic<std::uint32_t>, processes_max> timed_waits;
};

struct ControlBlock {
  bool is_gated;
  std::atomic<std::uint32_t> controller_turn;
  std::atomic<std::uint32_t> child_ready;  ///< a futex: 1: what is being started is ready
  Request request;
  std::uint16_t request_process;
  RoleText request_role;
  ActorId current;  ///< the actor that has the turn, or had it last
  std::atomic<std::uint64_t> progress;
  std::uint16_t actors_used;
  std::uint16_t processes_used;
  InterceptorState interceptors;
  std::uint32_t turns_on_end;
  std::int64_t clock;   ///< ns
  RecordText listener;  ///< path of the socket that was bound last

  // Questions. records_choices() is true while an answer is given, drawn or recorded.
  bool records_questions;
  bool asks_controller;  ///< `question` and `choice_events` are used, and not the lists.
  std::uint32_t choice_events_count;
  std::uint32_t given_count;
  std::uint32_t asked;

  Signals signals;
  std::array<Process, processes_max> processes;
  std::array<Actor, actors_max> actors;
  std::array<std::uint8_t, questions_max> given;
  std::array<std::uint8_t, questions_max> answers;
  std::array<std::uint8_t, questions_max> options;
  PendingQuestion question;
  std::array<ChoiceEvent, choice_events_max> choice_events;
  UngatedState ungated;

  bool records_choices() const noexcept {
    return records_questions || asks_controller || asked < given_count;
  }
};

/// A control_block, followed by the journal, in one piece of shared memory.
class SharedRun {
 public:
  /// A new one, at harness_fd::run.
  explicit SharedRun(bool is_gated) noexcept;
  /// The shared memory of the run that this executed process belongs to, from harness_fd::run.
  struct Inherited {};
  explicit SharedRun(Inherited) noexcept;

  ControlBlock& control_block() noexcept { return *control_block_; }
  Journal& journal() noexcept { return journal_; }
  bool is_gated() const noexcept { return control_block_->is_gated; }
  /// Called before an effect that an ungated run cannot have: leaves the scenario out, because
  /// `why`. False in a gated run.
  bool lacks_gate(std::string_view why) noexcept;
  /// Resets it to its initial state, for the next run.
  void reset() noexcept;

 private:
  SharedMemory memory_;
  ControlBlock* control_block_;
  Journal journal_;
};

class RunChoices;

/// Whether a time limit ends early.
bool choose_early_end(ControlBlock& control_block) noexcept;
/// A fault was injected into the step of the running actor.
void note_fault(ControlBlock& control_block) noexcept;

/// The actor that continues when `current` asks, or cannot continue (`may_stay` false); absent: the
/// controller gets the turn. The controller itself has `choices` if `asks_controller`.
std::optional<ActorId> next_actor(ControlBlock& control_block,
                                  bool may_stay,
                                  RunChoices* choices = nullptr) noexcept;

/// Makes the epolls of all actors, at their numbers. Called once, in the server.
void make_pollers() noexcept;

/// Passes the turn on.
void give_turn(ControlBlock& control_block, ActorId actor) noexcept;
void give_controller(ControlBlock& control_block, Request request) noexcept;
/// Passes it back to the actor that gave it to the controller.
void return_turn(ControlBlock& control_block) noexcept;
/// Reports that a forked child has closed what it does not inherit, as if it had been executed, or
/// that a new thread has begun. The starter waits for that. Before it, a parent's death would close
/// nothing, and a fork would copy what the thread has locked. One start at a time.
void signal_child_ready(ControlBlock& control_block) noexcept;
void wait_until_child_ready(ControlBlock& control_block) noexcept;
/// Waits for the turn.
void take_turn(ControlBlock& control_block, ActorId actor) noexcept;
/// Waits for the controller's turn; false if the time ran out first.
bool take_controller(ControlBlock& control_block, std::chrono::milliseconds timeout) noexcept;

/// "tracker" for the first process of a role, then "tracker#2".
std::string incarnation_of(std::string_view role, std::size_t number);

/// Adds a process and returns its index. `incarnation` counts the processes of a role.
std::uint16_t new_process(ControlBlock& control_block,
                          std::string_view role,
                          std::uint16_t parent) noexcept;
ActorId new_actor(ControlBlock& control_block, std::uint16_t process) noexcept;

/// Makes the first await that is not answered yet fail, because no process can give the signal. Its
/// actor is `late` then. Absent: no actor awaits a signal in a process that could continue.
std::optional<ActorId> fail_one_waiter(SharedRun& run) noexcept;

/// Records a fact about `process` in the journal.
void note_fact(SharedRun& run,
               std::uint16_t process,
               std::string_view name,
               std::string_view text,
               std::int64_t value = 0) noexcept;

}  // namespace lastref::harness
