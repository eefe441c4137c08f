// Scheduler: decides which actor of a simulated run continues. One actor runs at a time, each on a
// fiber of its own.
//
// An actor is a thread of a simulated process. It runs until it asks (another actor may run first)
// or waits. The next actor is a question to Choices. Its options are the ready actors in order: the
// asking one first, then those after it in the order of creation, cyclically. So answer 0 of an
// asking actor means "continue", and any other answer is a preemption. The kernel world asks the
// same questions, so a list of answers means the same there.
//
// With `split_deaths` a process ends in two separate steps: first all its open descriptors are
// closed, then parents and process descriptors are notified. Another actor may run in between, as
// in Linux; only a simulation can hold that moment.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "harness/choice/choices.hpp"
#include "harness/sim/fiber.hpp"
#include "harness/sim/happens_before.hpp"
#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {

/// The actors for which the order of their own steps and the next step may matter. Exhaustive
/// enumeration does not try other actors at this point: a switch to them can equally happen before
/// the next step that they can observe.
enum class Reach : std::uint8_t { none, process, all };

/// Is notified of moments at which a run can be copied.
class Checkpoints {
 public:
  Checkpoints() = default;
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;
  virtual ~Checkpoints() = default;

  virtual void reach() noexcept = 0;
};

class Scheduler {
 public:
  using Index = std::uint16_t;

  Scheduler(SimKernel& kernel, Choices& choices) : kernel_(kernel), choices_(&choices) {}
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler() = default;

  /// Adds an actor, ready, last in order. When the main actor of a process returns, the process
  /// ends with that code; the return value of other actors is ignored.
  Index start(std::shared_ptr<SimProcess> process, bool is_main, std::function<int()> body);

  enum class Rest : std::uint8_t { ended, stuck, endless, look, cut_off };
  /// From outside: runs until all actors have ended, none can continue, there were too many steps,
  /// an inspection from outside is due, or the choices cut the run off. May be called again.
  Rest run();

  // From inside an actor.
  Index current() const noexcept { return current_; }
  bool is_inside() const noexcept { return is_inside_; }
  /// Another actor may run first. `reach` and `step` belong to the next step.
  void ask(Reach reach = Reach::all, NextStep step = {}) noexcept;
  /// Returns true when `ready` does, or false when the deadline came first.
  bool wait_until(const std::function<bool()>& ready,
                  std::optional<os::Instant> deadline,
                  const char* what) noexcept;
  /// Returns when no actor that is not paused can continue.
  void pause() noexcept;
  /// Reports that the run does not end: `run` returns that, and the actor does not continue by
  /// itself.
  void give_up() noexcept;
  /// Ends the running process if it is doomed; then it does not return.
  void exit_if_killed() noexcept;
  /// `run` returns for an inspection. Then the actor continues, or the one that has the turn.
  void look(bool goes_on) noexcept;
  /// The same if the actor has caused a death by a signal that is to be inspected.
  void show_deaths() noexcept;
  /// Lets only these processes run, until they wait. The next actor is then the same as before.
  void run_alone(const std::function<bool(const SimProcess&)>& these);
  /// A doomed process executes no more steps of its own; without split_deaths it is dead now.
  void finish_killed();

  bool is_gone(Index actor) const noexcept { return actors_[actor].gone; }
  std::size_t actors() const noexcept { return actors_.size(); }
  SimProcess& process_of(Index actor) const noexcept { return *actors_[actor].process; }
  /// "client_a in poll, tracker runs", for all actors that have not ended.
  std::string waiting() const;
  std::uint64_t steps() const noexcept { return steps_; }
  bool is_cut_off() const noexcept { return is_cut_off_; }

  Choices& choices() const noexcept { return *choices_; }
  /// From now on these are asked.
  void ask_instead(Choices& choices) noexcept { choices_ = &choices; }

  bool split_deaths = false;
  /// After this many consecutive questions, an actor has to let the others run.
  std::uint32_t on_end_max = 200;
  std::uint64_t steps_max = 100'000;
  /// If set, only these processes run, and no question is asked.
  std::function<bool(const SimProcess&)> only;
  /// Whether `run` returns for an inspection after a death by a signal, before another actor runs.
  std::function<bool()> shows_deaths = [] { return false; };
  /// If there is one, the kernel has to note accesses; then questions have a state.
  std::optional<HappensBefore> happens_before;
  /// The steps that were taken, if they are counted.
  bool counts_steps = false;
  RunEstimate steps_taken() const;
  /// Of each two consecutive steps of different actors that conflict: a hash of both, and of their
  /// order. Counted likewise. Sorted.
  std::vector<std::uint64_t> conflicts() const;
  /// If set, it is notified before each question about actors. Another run may return from that.
  Checkpoints* checkpoints = nullptr;
  /// Called when a process has died, before any other process can know.
  std::function<void(SimProcess&)> on_death;
  /// Called when `to` continues instead of the usual actor, before it does.
  std::function<void(Index usual, Index to)> on_switch;

 private:
  struct Actor {
    std::shared_ptr<SimProcess> process;
    std::unique_ptr<Fiber> fiber;
    bool is_main = false;
    bool gone = false;
    bool reaps = false;                            ///< It has become the reaper of its process.
    bool late = false;                             ///< Its deadline has expired.
    bool paused = false;                           ///< Continues only when no other actor can.
    const std::function<bool()>* ready = nullptr;  ///< What it waits for
    std::optional<os::Instant> deadline;
    const char* what = "";
    NextStep step;  ///< Known while it could continue
  };

  bool can_go_on(const Actor& actor) const;
  std::optional<Index> next(bool may_stay, Reach reach = Reach::all);
  std::uint32_t pick(const Question& question);
  void list_ready(bool may_stay);
  bool expire();
  std::uint64_t worthwhile(Reach reach) const;
  bool is_private(Reach reach) const;
  void count_step(Index actor);
  void end_pauses() noexcept;
  void leave() noexcept;
  void enter(Index index);
  void finish_exit(Actor& reaper);
  bool advance_clock();

  SimKernel& kernel_;
  Choices* choices_;
  std::deque<Actor> actors_;  // Elements stay in place when it grows
  std::vector<ReadyActor> options_;
  Index current_ = 0;
  bool is_inside_ = false;
  std::optional<Index> picked_;  // by an actor that yields
  std::uint64_t steps_ = 0;
  struct OfActor {
    std::size_t operator()(const std::pair<Index, std::uint64_t>& key) const noexcept {
      return static_cast<std::size_t>(key.second +
                                      key.first);  // The number of an object is a hash.
    }
  };
  std::unordered_map<std::pair<Index, std::uint64_t>, std::uint32_t, OfActor> steps_taken_;
  std::unordered_set<std::uint64_t> conflicts_;
  std::unordered_map<std::uint64_t, ReadyActor> last_on_;  ///< By object: its last step
  std::uint32_t on_end_ = 0;  ///< Number of consecutive questions without a switch
  bool looks_ = false;
  bool is_cut_off_ = false;
};

}  // namespace lastref::harness::sim
