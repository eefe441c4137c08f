// SourceSetChoices: enumerates one order of each set of orders that differ only in steps that do
// not conflict. There is no bound of preemptions.
//
// After each step it looks for earlier steps of other actors that conflict with it directly: a
// race. The other order of both is tried by another actor at the earlier step, unless one that is
// tried there leads to it anyway. The actors that are tried at a step form a source set. An actor
// that was tried is asleep in the runs that follow, until a step conflicts with its own: a run in
// which all actors are asleep shows nothing new, and is cut off. (Abdulla, Aronis, Jonsson, Sagonas
// 2014, "Optimal dynamic partial order reduction", algorithm 1.)
//
// A step that keeps another actor from continuing is in a race with the step of that one, too,
// although that is not made. An actor that waits has to have made a step that accesses what it
// waits for, as every wait in the simulated kernel follows a call that has found nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/choice/choices.hpp"
#include "harness/choice/footprint.hpp"

namespace lastref::harness {

class SourceSetChoices final : public Choices {
 public:
  /// @param prefix  Fixed first answers: one share of the whole.
  explicit SourceSetChoices(std::vector<std::uint32_t> prefix = {}) : prefix_(std::move(prefix)) {}

  /// Proceeds to the next run. False when all are done.
  bool advance() noexcept;
  /// False once a run asked other questions than an earlier run with the same answers.
  bool deterministic() const noexcept { return deterministic_; }
  /// The number of runs that were cut off.
  std::uint64_t cut_off() const noexcept { return cut_off_; }
  /// So often another actor could have continued, and was not tried.
  std::uint64_t not_tried() const noexcept { return not_tried_; }

  void step_made(std::span<const ObjectAccess> accesses) noexcept override;
  bool is_redundant() const noexcept override { return is_redundant_; }

 private:
  using Actor = std::uint32_t;

  /// An actor whose next step need not be tried yet.
  struct Sleeper {
    Actor actor = 0;
    Footprint step;
  };

  /// For each actor the number of frames up to its last step that has to precede a step.
  class Clock {
   public:
    std::size_t of(Actor actor) const noexcept {
      return actor < frames_.size() ? frames_[actor] : 0;
    }
    void set(Actor actor, std::size_t frames);
    void join(const Clock& other);

   private:
    std::vector<std::size_t> frames_;
  };

  /// A question and, if it is about actors, the step that the answer leads to.
  struct Frame {
    std::uint32_t answer = 0;
    std::uint32_t options = 1;
    std::uint64_t worthwhile = 0;  ///< Of a question that is not about actors: answers to try
    bool is_fixed = false;
    std::vector<Actor> ready = {};   ///< The actor of each answer; empty if it is about others
    std::vector<Actor> wanted = {};  ///< The source set so far
    std::vector<Actor> tried = {};
    std::vector<Sleeper> asleep = {};
    Footprint step = {};
    bool has_other = false;  ///< The step depends on an answer that is not about actors.
    Clock before = {};       ///< The steps that have to precede this one, which is included

    bool is_about_actors() const noexcept { return !ready.empty(); }
    Actor actor() const noexcept { return ready[answer]; }
  };

  /// The steps that have accessed an object, by their frames. They form groups of which the steps
  /// commute.
  struct Steps {
    Access access = Access::read;     ///< of the last group
    std::vector<std::size_t> before;  ///< The group before the last one
    std::vector<std::size_t> last;
  };

  std::uint32_t answer(const Question& question) noexcept override;
  void only_one(const Question& question) noexcept override;
  void begun() noexcept override;

  std::uint32_t answer_about_actors(const Question& question);
  std::uint32_t answer_about_others(const Question& question);
  std::vector<Sleeper> still_asleep() const;
  static bool is_asleep(const Frame& frame, Actor actor) noexcept;
  static void want(Frame& frame, Actor actor);
  void end_step();
  /// Finds the steps that have to precede the last one, and those that it races with.
  std::vector<std::size_t> races_of_last_step();
  void reverse(std::size_t earlier);
  std::vector<Actor> initials_after(std::size_t earlier) const;
  /// After the last step these actors can continue.
  void note_disabled(std::span<const ReadyActor> ready);
  bool try_next(Frame& frame);

  std::vector<std::uint32_t> prefix_;
  std::vector<Frame> frames_;
  std::size_t depth_ = 0;
  std::vector<std::size_t> step_at_;  ///< Frames of this run that are about actors
  std::size_t changed_at_ = 0;  ///< The frame of the first step that the last run has not made
  Footprint running_;           ///< Of the running step
  bool has_other_ = false;      ///< Likewise
  std::vector<Clock> clocks_;   ///< By actor: that of its last step
  std::unordered_map<std::uint64_t, Steps> objects_;
  bool is_redundant_ = false;
  bool deterministic_ = true;
  std::uint64_t cut_off_ = 0;
  std::uint64_t not_tried_ = 0;
};

}  // namespace lastref::harness
