// SchedulePolicy: decides which actor of a run continues, from the steps that the ready actors take
// next.
//
// A policy draws from its seed and from an estimate of the run, so that one seed gives one
// schedule. The policies differ in what they find: `pct` finds an order of few steps far apart,
// `pos` the order of two conflicting steps, `surw` schedules evenly however uneven the lengths of
// the actors are, `delays` few preemptions at uniform places, `postpone` few preemptions between
// the steps on one object, `sticky` many preemptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/platform/named_enum.hpp"

namespace lastref::harness {

/// The step that an actor takes next.
struct NextStep {
  std::uint64_t object = 0;  ///< hash of the name of its object; 0: none, or unknown
  bool writes = false;       ///< Whether it may change the object.
  std::uint32_t call = 0;    ///< Distinguishes kinds of steps on one object.

  bool operator==(const NextStep&) const = default;
};

/// Whether the order of two steps of different actors may matter: they have an object in common,
/// and one of them writes it.
bool conflict(const NextStep& one, const NextStep& other) noexcept;

/// An actor that can continue. Actors are numbered in the order of their creation.
struct ReadyActor {
  std::uint32_t actor = 0;
  NextStep step = {};
};

/// A question about which actor continues, by its first option.
struct Turn {
  ReadyActor first;
  bool may_stay = false;      ///< It is the running actor, before its next step.
  std::uint32_t options = 1;  ///< The number of options; 1: the question is not recorded.
  std::size_t question = 0;   ///< How many recorded questions are before it
};

/// The number of steps of an actor on one object.
struct ActorSteps {
  std::uint32_t actor = 0;
  std::uint64_t object = 0;
  std::uint32_t steps = 0;

  bool operator==(const ActorSteps&) const = default;
};

/// The steps of an earlier run of the same scenario, from which policies estimate the next one.
/// Sorted by actor and object.
using RunEstimate = std::vector<ActorSteps>;

LASTREF_NAMED_ENUM(
    PolicyName,
    /// An actor continues with a probability of 7/8; otherwise a random one does.
    (sticky, "sticky"),
    /// Up to three preemptions, at random steps. Otherwise the usual order. After half
    /// of the preemptions the actor is paused: it runs only when no other can.
    (delays, "delays"),
    /// A few random steps on objects that other actors use too wait until others have taken
    /// conflicting steps, or can take none (Sen 2008). Otherwise the usual order, or that of random
    /// priorities.
    (postpone, "postpone"),
    /// Random priorities, lowered at two random steps (Burckhardt et al. 2010).
    (pct, "pct"),
    /// Random priorities of steps, drawn again after a conflict (Yuan et al. 2018).
    (pos, "pos"),
    /// Weights by remaining steps on one random object (Zhao et al. 2025).
    (surw, "surw"));

std::vector<PolicyName> all_policies();

/// Empty if there is none of this name.
std::optional<PolicyName> policy_named(std::string_view name) noexcept;

class SchedulePolicy {
 public:
  SchedulePolicy() = default;
  SchedulePolicy(const SchedulePolicy&) = delete;
  SchedulePolicy& operator=(const SchedulePolicy&) = delete;
  virtual ~SchedulePolicy() = default;

  /// The index of the actor that continues. `ready` is not empty; with `may_stay` its first actor
  /// is the one that has run last. To be called for each step, also if only one actor is ready. An
  /// actor that may not stay, but could continue, is not chosen if there is another: it may repeat
  /// the same steps until another actor has run.
  std::size_t choose(std::span<const ReadyActor> ready, bool may_stay);

  /// A fault was injected into the step of the running actor: the order of the steps that follow is
  /// more interesting than others.
  virtual void fault_struck() {}

 private:
  virtual std::size_t pick(std::span<const ReadyActor> ready, bool may_stay) = 0;
  virtual void yielded(std::uint32_t) {}

  std::optional<std::uint32_t> last_;  ///< Empty before the first step
};

/// A policy for one run.
std::unique_ptr<SchedulePolicy> make_policy(PolicyName name,
                                            std::uint64_t seed,
                                            const RunEstimate& estimate);

/// A run of `pct`, with the depth 3, finds a bug that needs the order of three steps with a
/// probability of at least 1 / this: actors * steps ^ (depth - 1).
double pct_bound(std::uint64_t actors, std::uint64_t steps) noexcept;

}  // namespace lastref::harness
