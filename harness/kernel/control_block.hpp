// ControlBlock: the memory that all processes of a run share: who runs, who waits for what, the
// plan, and what was asked and answered.
//
// There are no locks in it: whoever has the turn may change anything, and the turn is handed on by
// a release store to the next one's word. The controller (the fork server) has the turn whenever a
// process has to die, stop, or be waited for, and when nobody can go on.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <string_view>

#include <lastref/os.hpp>

#include "harness/instrument/limits.hpp"
#include "harness/instrument/plan_interceptor.hpp"
#include "harness/journal/journal.hpp"
#include "harness/kernel/signals.hpp"
#include "harness/scenario/fault.hpp"

namespace lastref::harness {

inline constexpr std::size_t actors_max = 64;
inline constexpr std::size_t processes_max = 48;
inline constexpr std::size_t questions_max = 1U << 15U;

/// Descriptors that every process of a run inherits. The product's stay far below.
namespace harness_fd {
inline constexpr int lowest = 400;
inline constexpr int request = 400;  ///< the server's connection to the program
inline constexpr int standard_error = 401;
inline constexpr int last_pid = 402;
inline constexpr int ballast = 403;       ///< a page of /dev/shm that is always used
inline constexpr int run = 404;           ///< the memory that all processes of a run share
inline constexpr int unread = 405;        ///< a full pipe, in the ambient that has one,
inline constexpr int reader = 406;        ///< and its other end, from which nobody reads
inline constexpr int world_proc = 407;    ///< /proc, with the pids that the controller knows
inline constexpr int pollers = 408;       ///< an epoll of the actors' epolls
inline constexpr int actor_poller = 409;  ///< the first of actors_max epolls
/// From here on, for a moment, while a process is born.
inline constexpr int aside = actor_poller + static_cast<int>(actors_max);
}  // namespace harness_fd

enum class ActorState : std::uint8_t {
  unused,
  ready,     ///< Goes, or could.
  polling,   ///< Waits until its epoll has something, or for its deadline.
  locking,   ///< Waits for a monitor's lock,
  noticing,  ///< for its notify_all,
  joining,   ///< for a thread's end,
  awaiting,  ///< for a signal.
  gone,
};

struct Actor {
  std::atomic<std::uint32_t> turn;  ///< a futex: 1 gives the turn
  ActorState state;
  bool late;    ///< Given the turn because of its deadline, or in vain.
  bool doomed;  ///< A planned kill_blocked strikes when it goes on.
  bool paused;  ///< Goes on only when nobody else can.
  bool has_deadline;
  std::uint16_t process;
  std::int64_t deadline;  ///< ns on the run's clock
  const void* thing;      ///< what it waits for, in its process
  NameText name;          ///< the crossing that it is in, for people,
  ObjectText object;      ///< or the signal that it waits for
};

struct Process {
  os::Pid pid;      ///< In the world,
  os::Pid own_pid;  ///< and in the pid namespace that it is in, where it is another one.
  bool live;
  bool stopped;
  bool has_ended;      ///< Its body returned; it exits now.
  std::uint64_t sent;  ///< Signals that processes of the run have sent it; signal_bit.
  std::int32_t exit_code;
  std::uint16_t parent;
  std::uint16_t incarnation;
  RoleText role;  ///< "tracker#2"
  RoleText base;  ///< "tracker"

  /// Whether it is meant by `name`: "tracker" means all of them, "tracker#2" one.
  bool plays(std::string_view name) const noexcept { return base == name || role == name; }

  /// The first process of a pid namespace: deaf to signals that it does not catch, but for those
  /// that end it from without; and all others there die with it. pid_namespaces(7)
  bool is_first() const noexcept { return own_pid == 1; }
};

/// Of a signal's number, as /proc has them. proc(5), "SigPnd"
constexpr std::uint64_t signal_bit(int number) noexcept {
  return std::uint64_t{1} << static_cast<unsigned>(number - 1);
}

/// What the controller is asked for together with the turn.
enum class Request : std::uint8_t {
  quiet,    ///< Nobody can go on.
  ended,    ///< `process` exits now.
  suicide,  ///< `process` kills itself now.
  kill_all,
  kill_role,  ///< `role`; then `actor` goes on. So for the next three.
  stop_role,
  resume_role,
  interrupt_all,  ///< SIGINT; then `actor` goes on if it lives.
  settle,         ///< A signal was sent to `process`.
  look,           ///< The tracker is to be asked; then `actor` goes on, or whose turn it is.
  endless,        ///< The run does not come to rest.
};

struct ControlBlock {
  std::atomic<std::uint32_t> controller_turn;
  std::atomic<std::uint32_t> apart;  ///< a futex: 1 says that the child being born is
  Request request;
  std::uint16_t request_process;
  RoleText request_role;
  ActorId current;  ///< who has the turn, or had it last
  std::atomic<std::uint64_t> progress;
  std::uint16_t actors_used;
  std::uint16_t processes_used;
  InterceptorState interceptors;
  std::uint32_t turns_on_end;
  std::int64_t clock;   ///< ns
  RecordText listener;  ///< path of the socket that was bound last

  // Questions. `curious` while an answer is given, drawn or wanted.
  bool records_questions;
  bool has_seed;
  std::uint64_t chance;
  std::uint32_t given_count;
  std::uint32_t asked;

  Signals signals;
  std::array<Process, processes_max> processes;
  std::array<Actor, actors_max> actors;
  std::array<std::uint8_t, questions_max> given;
  std::array<std::uint8_t, questions_max> answers;
  std::array<std::uint8_t, questions_max> options;

  bool is_curious() const noexcept { return records_questions || has_seed || asked < given_count; }
};

/// A control_block and the journal behind it, in one piece of shared memory.
class SharedRun {
 public:
  /// A new one, at harness_fd::run.
  SharedRun() noexcept;
  /// That of the run which this executed process plays in, from harness_fd::run.
  struct Inherited {};
  explicit SharedRun(Inherited) noexcept;

  ControlBlock& control_block() noexcept { return *control_block_; }
  Journal& journal() noexcept { return journal_; }
  /// As at the start, for the next run.
  void reset() noexcept;

 private:
  SharedMemory memory_;
  ControlBlock* control_block_;
  Journal journal_;
};

/// One out of `options`, as the plan says, by chance, or the first. With `sticky` chance mostly
/// lets things be.
std::uint32_t choose(ControlBlock& control_block, std::uint32_t options, bool sticky) noexcept;

/// Who goes on when `current` asks, or cannot go on (`may_stay` false): an actor, or nothing for
/// the controller.
std::optional<ActorId> next_actor(ControlBlock& control_block, bool may_stay) noexcept;

/// Makes the epolls of all actors, at their numbers. Once, in the server.
void make_pollers() noexcept;

/// Hands the turn over.
void give_turn(ControlBlock& control_block, ActorId actor) noexcept;
void give_controller(ControlBlock& control_block, Request request) noexcept;
/// A forked child has let go of what it does not inherit, as if it had been executed, or a new
/// thread has begun; and whoever started it waits for that. Until then, a parent's death would
/// close nothing, and a fork would copy what the thread has locked. One birth at a time.
void say_apart(ControlBlock& control_block) noexcept;
void wait_until_apart(ControlBlock& control_block) noexcept;
/// Waits for the turn.
void take_turn(ControlBlock& control_block, ActorId actor) noexcept;
/// The controller's; false when the time was over first.
bool take_controller(ControlBlock& control_block, std::chrono::milliseconds patience) noexcept;

/// "tracker" for the first of a role, then "tracker#2".
std::string incarnation_of(std::string_view role, std::size_t number);

/// A new process: its index. `incarnation` counts those of the same role.
std::uint16_t new_process(ControlBlock& control_block,
                          std::string_view role,
                          std::uint16_t parent) noexcept;
ActorId new_actor(ControlBlock& control_block, std::uint16_t process) noexcept;

/// A fact in the journal, about `process`.
void note_fact(SharedRun& run,
               std::uint16_t process,
               std::string_view name,
               std::string_view text,
               std::int64_t value = 0) noexcept;

}  // namespace lastref::harness
