#include "harness/explore/deviations.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/choice/choices.hpp"

namespace lastref::harness {
namespace {

/// Where a deviation is, apart from how often the run has been there.
struct Place {
  std::uint32_t actor = 0;
  std::uint64_t object = 0;
  std::uint32_t call = 0;
  std::uint32_t answer = 0;            ///< 0: a pause
  std::optional<std::uint32_t> until;  ///< The actor that ends the pause

  auto operator<=>(const Place&) const = default;
};

/// Whether it is the pause of an actor until another one is about to take a conflicting step.
bool is_conflict(const Deviation& deviation) noexcept {
  return deviation.switches.size() > 1;
}

/// What the turns of a clean run say about its deviations.
class Places {
 public:
  explicit Places(const std::vector<Turn>& turns) {
    std::map<std::uint64_t, std::map<std::uint32_t, bool>> users;
    std::map<std::uint32_t, std::uint32_t> steps;
    std::uint32_t running = 0;
    for (const Turn& turn : turns) {
      const NextStep& step = turn.first.step;
      bool& writes = users[step.object][turn.first.actor];
      writes = writes || step.writes;
      at_step_[{running, steps[running]}] = &turn;
      if (turn.options > 1) {
        at_question_[turn.question] = &turn;
      }
      if (turn.may_stay && step.object != 0) {
        accesses_[step.object].push_back({.actor = running, .step = steps[running], .next = step});
      }
      running = turn.first.actor;
      ++steps[running];
    }
    for (const auto& [object, each] : users) {
      const bool is_written =
          std::ranges::any_of(each, [](const auto& user) { return user.second; });
      if (object != 0 && each.size() > 1 && is_written) {
        contested_.insert(object);
      }
    }
  }

  /// Each pause of an actor before a step until another one is about to take a later step that
  /// conflicts with it. Of many such pairs of steps of two actors on one object, some.
  std::vector<Deviation> conflicts(std::uint64_t& chance) const {
    std::vector<Deviation> all;
    for (const auto& [object, accesses] : accesses_) {
      const std::size_t stride = 1 + accesses.size() / accesses_max;
      for (std::size_t at = next_random(chance) % stride; at < accesses.size(); at += stride) {
        for (std::size_t later = at + 1; later < accesses.size(); later += stride) {
          const Access& first = accesses[at];
          const Access& second = accesses[later];
          if (first.actor != second.actor && conflict(first.next, second.next)) {
            all.push_back(
                {.switches = {
                     {.kind = Switch::Kind::pause, .from = first.actor, .step = first.step},
                     {.from = second.actor, .step = second.step, .to = first.actor}}});
          }
        }
      }
    }
    return all;
  }

  /// Of the turn at which it deviates, if that is known.
  const Turn* turn_of(const Deviation& deviation) const {
    if (deviation.switches.empty()) {
      const auto found = at_question_.find(deviation.question);
      return found == at_question_.end() ? nullptr : found->second;
    }
    const auto found =
        at_step_.find({deviation.switches.front().from, deviation.switches.front().step});
    return found == at_step_.end() ? nullptr : found->second;
  }

  static Place place_of(const Deviation& deviation, const Turn* turn) {
    Place place{.answer = deviation.answer, .until = std::nullopt};
    if (turn != nullptr) {
      place.actor = turn->first.actor;
      place.object = turn->first.step.object;
      place.call = turn->first.step.call;
    }
    if (is_conflict(deviation)) {
      place.until = deviation.switches.back().from;
    }
    return place;
  }

  /// Whether the order changes where that may matter: instead of a step on an object of several
  /// actors, or where an actor has to be chosen.
  bool is_contested(const Turn* turn) const {
    return turn != nullptr && (!turn->may_stay || contested_.contains(turn->first.step.object));
  }

 private:
  /// A step that another actor may precede.
  struct Access {
    std::uint32_t actor = 0;
    std::uint32_t step = 0;
    NextStep next;
  };

  static constexpr std::size_t accesses_max = 8;  // Of one object

  std::map<std::uint64_t, std::vector<Access>> accesses_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, const Turn*> at_step_;
  std::map<std::size_t, const Turn*> at_question_;
  std::set<std::uint64_t> contested_;
};

/// In random order: neighbours mostly have the same result.
void shuffle(std::vector<Deviation>& all, std::uint64_t& chance) {
  for (std::size_t left = all.size(); left > 1; --left) {
    std::swap(all[left - 1], all[next_random(chance) % left]);
  }
}

/// First those at steps on objects of several actors, and of each place one before the second of
/// another; single ones before conflicts.
void order_by_promise(std::vector<Deviation>& all, const Places& places) {
  std::map<Place, std::uint32_t> times;
  std::vector<std::pair<int, std::size_t>> order;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const Turn* const turn = places.turn_of(all[at]);
    const std::uint32_t before = times[Places::place_of(all[at], turn)]++;
    const bool is_first = places.is_contested(turn) && !is_conflict(all[at]);
    order.emplace_back(std::bit_width(before) + (is_first ? 0 : 1), at);
  }
  std::ranges::sort(order);
  std::vector<Deviation> ordered;
  std::size_t conflicts = 0;
  for (const auto& [rank, at] : order) {
    if (!is_conflict(all[at]) || conflicts++ < conflicts_max) {
      ordered.push_back(std::move(all[at]));
    }
  }
  all = std::move(ordered);
}

}  // namespace

std::vector<Deviation> deviations_of(const Outcome& clean, std::uint64_t chance) {
  std::vector<Deviation> all;
  for (std::size_t question = 0; question < clean.options.size(); ++question) {
    for (std::uint32_t answer = 1; answer < clean.options[question]; ++answer) {
      all.push_back({.question = question, .answer = answer});
    }
  }
  std::map<std::uint32_t, std::uint32_t> steps;
  for (const ActorSteps& each : *clean.estimate) {
    steps[each.actor] += each.steps;
  }
  for (const auto& [actor, count] : steps) {
    for (std::uint32_t step = 0; step < count && steps.size() > 1; ++step) {
      all.push_back({.switches = {{.kind = Switch::Kind::pause, .from = actor, .step = step}}});
    }
  }
  const Places places(clean.turns);
  std::ranges::move(places.conflicts(chance), std::back_inserter(all));
  shuffle(all, chance);
  if (!clean.turns.empty()) {
    order_by_promise(all, places);
  }
  return all;
}

void apply(const Deviation& deviation, Plan& plan) {
  plan.switches = deviation.switches;
  if (deviation.switches.empty()) {
    plan.choices.assign(deviation.question + 1, 0);
    plan.choices.back() = deviation.answer;
  }
}

}  // namespace lastref::harness
