#include "harness/choice/schedule_policy.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "harness/choice/choices.hpp"

namespace lastref::harness {
namespace {

constexpr std::uint64_t delays_max = 3;
constexpr std::uint64_t pct_depth = 3;
/// For a run of which nothing is known.
constexpr std::uint64_t steps_usual = 500;

std::uint64_t steps_of(const RunEstimate& estimate) {
  std::uint64_t sum = 0;
  for (const ActorSteps& each : estimate) {
    sum += each.steps;
  }
  return sum == 0 ? steps_usual : sum;
}

/// By object that several actors use: the steps of all of them.
std::map<std::uint64_t, std::uint64_t> shared_steps(const RunEstimate& estimate) {
  std::map<std::uint64_t, std::uint64_t> steps;
  std::map<std::uint64_t, std::uint32_t> users;
  for (const ActorSteps& each : estimate) {
    steps[each.object] += each.steps;
    ++users[each.object];
  }
  std::erase_if(steps, [&](const auto& each) { return each.first == 0 || users[each.first] < 2; });
  return steps;
}

/// Random places of a run. In three seeds of four they are at steps on objects that several actors
/// use, if there are any: to change the order elsewhere is mostly to change it at the next such
/// step.
class RandomSteps {
 public:
  RandomSteps(std::uint64_t& chance, std::uint64_t count, const RunEstimate& estimate) {
    std::uint64_t all = steps_of(estimate);
    const auto shared = shared_steps(estimate);
    if (next_random(chance) % 4 != 0 && !shared.empty()) {
      for (const ActorSteps& each : estimate) {
        if (!shared.contains(each.object)) {
          all -= each.steps;
          of_one_actor_.insert(each.object);
        }
      }
    }
    for (std::uint64_t each = 0; each < count; ++each) {
      places_.insert(next_random(chance) % all);
    }
  }

  /// Whether the step is at one of them. To be called for each step.
  bool reach(const NextStep& step) {
    return !of_one_actor_.contains(step.object) && places_.contains(place_++);
  }
  /// One more, after as many that count.
  void add_after(std::uint64_t count) { places_.insert(place_ + count); }

 private:
  std::unordered_set<std::uint64_t> of_one_actor_;  ///< Objects; steps on them do not count.
  std::set<std::uint64_t> places_;
  std::uint64_t place_ = 0;
};

/// The number of steps after a fault until a policy with few changes makes another one: 0 in half
/// of the cases, 1 in a quarter, ... Mostly it is the next step of the failed actor that is raced
/// for.
std::uint64_t aftermath(std::uint64_t& chance) {
  return static_cast<std::uint64_t>(std::countr_zero(next_random(chance) | (1ULL << 16U)));
}

/// Of an actor that has none it is drawn.
std::uint64_t priority_in(std::map<std::uint32_t, std::uint64_t>& priorities,
                          std::uint32_t actor,
                          std::uint64_t& chance) {
  const auto [at, is_new] = priorities.try_emplace(actor, 0);
  if (is_new) {
    at->second = next_random(chance);
  }
  return at->second;
}

class Sticky final : public SchedulePolicy {
 public:
  explicit Sticky(std::uint64_t seed) : chance_(seed) {}

 private:
  std::size_t pick(std::span<const ReadyActor> ready, bool may_stay) override {
    return random_answer(chance_, static_cast<std::uint32_t>(ready.size()), may_stay);
  }

  std::uint64_t chance_;
};

class Delays final : public SchedulePolicy {
 public:
  Delays(std::uint64_t seed, const RunEstimate& estimate)
      : chance_(seed), steps_(chance_, 1 + next_random(chance_) % delays_max, estimate) {}

  void fault_struck() override { steps_.add_after(aftermath(chance_)); }

 private:
  /// A preemption that falls on a step without an alternative is made at the next that has one.
  std::size_t pick(std::span<const ReadyActor> ready, bool) override {
    due_ += steps_.reach(ready.front().step) ? 1U : 0U;
    if (due_ == 0 || ready.size() == 1) {
      return usual(ready);
    }
    if (next_random(chance_) % 2 == 0) {
      --due_;
      paused_.insert(ready.front().actor);
      return usual(ready);
    }
    --due_;
    return 1 + next_random(chance_) % (ready.size() - 1);
  }

  /// The usual one of those that are not paused.
  std::size_t usual(std::span<const ReadyActor> ready) const {
    const auto found = std::ranges::find_if(
        ready, [this](const ReadyActor& each) { return !paused_.contains(each.actor); });
    return found == ready.end() ? 0 : static_cast<std::size_t>(found - ready.begin());
  }

  std::uint64_t chance_;
  RandomSteps steps_;
  std::set<std::uint32_t> paused_;
  std::uint32_t due_ = 0;
};

/// In half of the runs all postponed steps are on one object: between them lie the windows of
/// races, and they are few among all steps.
class Postpone final : public SchedulePolicy {
 public:
  Postpone(std::uint64_t seed, const RunEstimate& estimate)
      : chance_(seed), steps_(shared_steps(estimate)) {
    expected_ = 1 + next_random(chance_) % postponements_max;
    all_steps_ = steps_of(estimate);
    has_priorities_ = next_random(chance_) % 2 == 0;
    if (next_random(chance_) % 2 == 0 && !steps_.empty()) {
      const auto only = std::next(
          steps_.begin(), static_cast<std::ptrdiff_t>(next_random(chance_) % steps_.size()));
      steps_ = {*only};
      is_one_object_ = true;
    }
  }

  void fault_struck() override { after_fault_ = aftermath(chance_); }

 private:
  std::size_t pick(std::span<const ReadyActor> ready, bool) override {
    std::size_t at = preferred(ready);
    while (!waits_.contains(ready[at].actor) && postpones(ready[at])) {
      at = preferred(ready);
    }
    const ReadyActor picked = ready[at];
    waits_.erase(picked.actor);  // No other can continue.
    drawn_.erase(picked.actor);
    for (const ReadyActor& each : ready) {
      const auto wait = waits_.find(each.actor);
      if (wait != waits_.end() && wait->second > 0 && conflict(each.step, picked.step) &&
          --wait->second == 0) {
        waits_.erase(wait);
        if (next_random(chance_) % 2 == 0) {
          next_ = each.actor;
        }
      }
    }
    return at;
  }

  /// The first in order of those that are not postponed, if there is one.
  std::size_t preferred(std::span<const ReadyActor> ready) {
    std::optional<std::size_t> best;
    const std::optional<std::uint32_t> next = std::exchange(next_, std::nullopt);
    for (std::size_t at = 0; at < ready.size(); ++at) {
      const std::uint32_t actor = ready[at].actor;
      if (next == actor) {
        return at;
      }
      if (!waits_.contains(actor) &&
          (!best || (has_priorities_ && priority_of(actor) > priority_of(ready[*best].actor)))) {
        best = at;
      }
    }
    return best.value_or(0);
  }

  /// Draws once for each step.
  bool postpones(const ReadyActor& ready) {
    if (!drawn_.insert(ready.actor).second) {
      return false;
    }
    if (after_fault_ && (*after_fault_)-- == 0) {
      after_fault_.reset();
    } else {
      const std::uint64_t one_in = steps_per_postponement(ready.step.object);
      if (one_in == 0 || next_random(chance_) % one_in >= expected_) {
        return false;
      }
    }
    waits_[ready.actor] = next_random(chance_) % 4 == 0 ? 0 : 1 + aftermath(chance_);
    return true;
  }

  /// Each object has as many as the others, however many steps are taken on it. 0: none
  std::uint64_t steps_per_postponement(std::uint64_t object) const {
    const auto found = steps_.find(object);
    if (found != steps_.end()) {
      return found->second * steps_.size();
    }
    return is_one_object_ ? 0 : all_steps_;
  }

  /// Changes when it has to let others run.
  void yielded(std::uint32_t actor) override { priorities_[actor] = 0; }

  std::uint64_t priority_of(std::uint32_t actor) {
    return priority_in(priorities_, actor, chance_);
  }

  static constexpr std::uint64_t postponements_max = 3;  // Expected in a run

  std::uint64_t chance_;
  std::map<std::uint64_t, std::uint64_t> steps_;  ///< By object: of all actors
  std::uint64_t all_steps_ = 0;
  std::uint64_t expected_ = 0;
  bool is_one_object_ = false;
  bool has_priorities_ = false;
  /// By actor that is postponed: for how many conflicting steps of others; 0: until no other actor
  /// can continue.
  std::map<std::uint32_t, std::uint64_t> waits_;
  std::set<std::uint32_t> drawn_;
  std::map<std::uint32_t, std::uint64_t> priorities_;
  std::optional<std::uint32_t> next_;
  std::optional<std::uint64_t> after_fault_;
};

class Pct final : public SchedulePolicy {
 public:
  Pct(std::uint64_t seed, const RunEstimate& estimate)
      : chance_(seed), changes_(chance_, pct_depth - 1, estimate) {}

  void fault_struck() override { changes_.add_after(aftermath(chance_)); }

 private:
  std::size_t pick(std::span<const ReadyActor> ready, bool may_stay) override {
    if (changes_.reach(ready.front().step) && may_stay) {
      yielded(ready.front().actor);
    }
    return static_cast<std::size_t>(
        std::ranges::max_element(
            ready, {}, [this](const ReadyActor& each) { return priority_of(each.actor); }) -
        ready.begin());
  }

  /// Its priority is then lower than all that were drawn, or lowered before.
  void yielded(std::uint32_t actor) override { priorities_[actor] = lowest_--; }

  std::int64_t priority_of(std::uint32_t actor) {
    const auto [at, is_new] = priorities_.try_emplace(actor, 0);
    if (is_new) {
      at->second = static_cast<std::int64_t>(next_random(chance_) >> 1U);
    }
    return at->second;
  }

  std::uint64_t chance_;
  RandomSteps changes_;
  std::int64_t lowest_ = -1;
  std::map<std::uint32_t, std::int64_t> priorities_;
};

class Pos final : public SchedulePolicy {
 public:
  explicit Pos(std::uint64_t seed) : chance_(seed) {}

 private:
  std::size_t pick(std::span<const ReadyActor> ready, bool) override {
    const auto chosen = std::ranges::max_element(
        ready, {}, [this](const ReadyActor& each) { return priority_of(each.actor); });
    for (const ReadyActor& each : ready) {
      if (each.actor == chosen->actor || conflict(each.step, chosen->step)) {
        priorities_.erase(each.actor);
      }
    }
    return static_cast<std::size_t>(chosen - ready.begin());
  }

  std::uint64_t priority_of(std::uint32_t actor) {
    return priority_in(priorities_, actor, chance_);
  }

  std::uint64_t chance_;
  std::map<std::uint32_t, std::uint64_t> priorities_;
};

/// Selects the steps on one object that several actors use. Among these, the actor of the next one
/// is drawn by the numbers of them that remain; all other steps are taken in random order.
class Surw final : public SchedulePolicy {
 public:
  Surw(std::uint64_t seed, const RunEstimate& estimate) : chance_(seed) {
    const auto shared = shared_steps(estimate);
    if (!shared.empty()) {
      object_ = std::next(shared.begin(),
                          static_cast<std::ptrdiff_t>(next_random(chance_) % shared.size()))
                    ->first;
    }
    for (const ActorSteps& each : estimate) {
      if (object_ == 0 || each.object == object_) {
        left_[each.actor] += each.steps;
      }
    }
  }

 private:
  std::size_t pick(std::span<const ReadyActor> ready, bool) override {
    std::vector<std::size_t> others;
    for (std::size_t at = 0; at < ready.size(); ++at) {
      const bool is_selected = object_ == 0 || ready[at].step.object == object_;
      if (is_selected && ready[at].actor == intended_) {
        return take(ready, at);
      }
      if (!is_selected) {
        others.push_back(at);
      }
    }
    return others.empty() ? take(ready, draw(ready)) : others[next_random(chance_) % others.size()];
  }

  std::size_t take(std::span<const ReadyActor> ready, std::size_t at) {
    std::uint32_t& left = left_[ready[at].actor];
    left -= left > 0 ? 1U : 0U;
    intended_ = ready[draw(ready)].actor;
    return at;
  }

  /// One of them, by the steps that remain. Each has at least one: it is ready.
  std::size_t draw(std::span<const ReadyActor> ready) {
    std::uint64_t sum = 0;
    for (const ReadyActor& each : ready) {
      sum += weight_of(each.actor);
    }
    std::uint64_t drawn = next_random(chance_) % sum;
    std::size_t at = 0;
    while (drawn >= weight_of(ready[at].actor)) {
      drawn -= weight_of(ready[at++].actor);
    }
    return at;
  }

  std::uint64_t weight_of(std::uint32_t actor) const {
    const auto found = left_.find(actor);
    return found == left_.end() ? 1U : std::max(found->second, 1U);
  }

  std::uint64_t chance_;
  std::uint64_t object_ = 0;  ///< 0: all steps are selected
  std::map<std::uint32_t, std::uint32_t> left_;
  std::optional<std::uint32_t> intended_;
};

}  // namespace

std::size_t SchedulePolicy::choose(std::span<const ReadyActor> ready, bool may_stay) {
  if (!may_stay && ready.size() > 1 && ready.back().actor == last_) {
    yielded(*last_);
    ready = ready.first(ready.size() - 1);
  }
  const std::size_t picked = pick(ready, may_stay);
  last_ = ready[picked].actor;
  return picked;
}

bool conflict(const NextStep& one, const NextStep& other) noexcept {
  return one.object != 0 && one.object == other.object && (one.writes || other.writes);
}

std::vector<PolicyName> all_policies() {
  std::vector<PolicyName> all;
  for (std::size_t at = 0; at < names_of(PolicyName()).size(); ++at) {
    all.push_back(static_cast<PolicyName>(at));
  }
  return all;
}

std::optional<PolicyName> policy_named(std::string_view name) noexcept {
  constexpr auto names = names_of(PolicyName());
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? std::nullopt
                              : std::optional(static_cast<PolicyName>(found - names.begin()));
}

std::unique_ptr<SchedulePolicy> make_policy(PolicyName name,
                                            std::uint64_t seed,
                                            const RunEstimate& estimate) {
  switch (name) {
    case PolicyName::sticky:
      return std::make_unique<Sticky>(seed);
    case PolicyName::delays:
      return std::make_unique<Delays>(seed, estimate);
    case PolicyName::postpone:
      return std::make_unique<Postpone>(seed, estimate);
    case PolicyName::pct:
      return std::make_unique<Pct>(seed, estimate);
    case PolicyName::pos:
      return std::make_unique<Pos>(seed);
    case PolicyName::surw:
      return std::make_unique<Surw>(seed, estimate);
  }
  return nullptr;
}

double pct_bound(std::uint64_t actors, std::uint64_t steps) noexcept {
  return static_cast<double>(actors) *
         std::pow(static_cast<double>(steps), static_cast<double>(pct_depth - 1));
}

}  // namespace lastref::harness
