// Scheduler: who of a simulated run goes on. One actor at a time, each on a fiber of its own.
//
// An actor is a thread of a simulated process. It goes on until it asks (somebody else may go
// first) or waits. Who is next is a question to Choices, whose options are the ready actors in
// line: the asking one first, then those after it in the order of their birth, round and round. So
// answer 0 of an asking actor is "go on", and any other is a preemption. These are the questions of
// the kernel world too, so that a list of answers means the same there.
//
// With `split_deaths` a process that ends does so in two steps of its own: first all that it had
// open is closed, then parents and process descriptors learn of it. Somebody else may go in
// between, as in Linux; only a simulation can hold that moment.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/choice/choices.hpp"
#include "harness/sim/fiber.hpp"
#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {

/// Whose steps an actor's next one may not commute with. Exhaustive enumeration tries nobody else
/// in its place: a switch to others can as well come before the next step that they can tell.
enum class Reach : std::uint8_t { nobody, process, everybody };

class Scheduler {
 public:
  using Index = std::uint16_t;

  Scheduler(SimKernel& kernel, Choices& choices) : kernel_(kernel), choices_(choices) {}
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler() = default;

  /// A new actor, ready, last in line. When the main one of a process returns, the process ends
  /// with that code; the code of others means nothing.
  Index start(std::shared_ptr<SimProcess> process, bool is_main, std::function<int()> body);

  enum class Rest : std::uint8_t { ended, stuck, endless, look };
  /// From outside: goes on until everybody has ended, nobody can go on, there were too many steps,
  /// or it is time for a look from outside. May be called again.
  Rest run();

  // From inside an actor.
  Index current() const noexcept { return current_; }
  bool is_inside() const noexcept { return is_inside_; }
  /// Somebody else may go first. `reach` is that of the step that comes next.
  void ask(Reach reach = Reach::everybody) noexcept;
  /// Comes back true when `ready` says so, or false when the deadline came first.
  bool wait_until(const std::function<bool()>& ready,
                  std::optional<os::Instant> deadline,
                  const char* what) noexcept;
  /// Comes back when nobody can go on who does not pause.
  void pause() noexcept;
  /// The run does not come to rest: `run` says so, and the actor does not go on by itself.
  void give_up() noexcept;
  /// Ends the process that runs if something has doomed it; then it does not come back.
  void mind_death() noexcept;
  /// `run` comes back for a look. Then the actor goes on, or whose turn it is.
  void look(bool goes_on) noexcept;
  /// The same if the actor has had somebody killed whose death is to be seen.
  void show_deaths() noexcept;
  /// Lets only these go on, until they wait. Who goes on then is who would have before.
  void run_alone(const std::function<bool(const SimProcess&)>& these);
  /// Whoever something has doomed has no more steps of its own; without split_deaths it is dead
  /// now.
  void bury_the_doomed();

  bool is_gone(Index actor) const noexcept { return actors_[actor].gone; }
  std::size_t actors() const noexcept { return actors_.size(); }
  SimProcess& process_of(Index actor) const noexcept { return *actors_[actor].process; }
  /// "client_a in poll, tracker runs", for everybody who has not ended.
  std::string waiting() const;
  std::uint64_t steps() const noexcept { return steps_; }

  /// Nobody goes on ever: stacks go back to their pool.
  void forget_everybody() noexcept;

  bool split_deaths = false;
  /// After so many questions on end, an actor has to let the others go.
  std::uint32_t on_end_max = 200;
  std::uint64_t steps_max = 100'000;
  /// If set, only these go on, and nobody is asked.
  std::function<bool(const SimProcess&)> only;
  /// Whether `run` comes back for a look after a death by a signal, before anybody goes on.
  std::function<bool()> shows_deaths = [] { return false; };
  /// Told when a process has died and before anybody can know.
  std::function<void(SimProcess&)> on_death;

 private:
  struct Actor {
    std::shared_ptr<SimProcess> process;
    std::unique_ptr<Fiber> fiber;
    bool is_main = false;
    bool gone = false;
    bool buries = false;                           ///< Has become the undertaker of its process.
    bool late = false;                             ///< Its deadline has come.
    bool paused = false;                           ///< Goes on only when nobody else can.
    const std::function<bool()>* ready = nullptr;  ///< What it waits for
    std::optional<os::Instant> deadline;
    const char* what = "";
  };

  bool can_go_on(const Actor& actor) const;
  std::optional<Index> next(bool may_stay, Reach reach = Reach::everybody);
  std::uint64_t worthwhile(Reach reach) const;
  void end_pauses() noexcept;
  void leave() noexcept;
  void enter(Index index);
  void bury(Actor& undertaker);
  bool advance_clock();

  SimKernel& kernel_;
  Choices& choices_;
  std::deque<Actor> actors_;  // Stays in place while it grows
  std::vector<Index> options_;
  Index current_ = 0;
  bool is_inside_ = false;
  std::optional<Index> picked_;  // by an actor that gives way
  std::uint64_t steps_ = 0;
  std::uint32_t on_end_ = 0;  ///< Asked so often without a change
  bool looks_ = false;
};

}  // namespace lastref::harness::sim
