#include "harness/explore/deviations.hpp"

#include <algorithm>
#include <bit>
#include <map>
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
  std::uint32_t answer = 0;  ///< 0: a pause

  auto operator<=>(const Place&) const = default;
};

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

  /// Of the turn at which it deviates, if that is known.
  const Turn* turn_of(const Deviation& deviation) const {
    if (deviation.pause.empty()) {
      const auto found = at_question_.find(deviation.question);
      return found == at_question_.end() ? nullptr : found->second;
    }
    const auto found = at_step_.find({deviation.pause.front().from, deviation.pause.front().step});
    return found == at_step_.end() ? nullptr : found->second;
  }

  static Place place_of(const Deviation& deviation, const Turn* turn) {
    if (turn == nullptr) {
      return {.answer = deviation.answer};
    }
    return {.actor = turn->first.actor,
            .object = turn->first.step.object,
            .call = turn->first.step.call,
            .answer = deviation.answer};
  }

  /// Whether the order changes where that may matter: instead of a step on an object of several
  /// actors, or where an actor has to be chosen.
  bool is_contested(const Turn* turn) const {
    return turn != nullptr && (!turn->may_stay || contested_.contains(turn->first.step.object));
  }

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, const Turn*> at_step_;
  std::map<std::size_t, const Turn*> at_question_;
  std::set<std::uint64_t> contested_;
};

/// First those at steps on objects of several actors, and of each place one before the second of
/// another.
void order_by_promise(std::vector<Deviation>& all, const std::vector<Turn>& turns) {
  const Places places(turns);
  std::map<Place, std::uint32_t> times;
  std::vector<std::pair<int, std::size_t>> order;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const Turn* const turn = places.turn_of(all[at]);
    const std::uint32_t before = times[Places::place_of(all[at], turn)]++;
    order.emplace_back(std::bit_width(before) + (places.is_contested(turn) ? 0 : 1), at);
  }
  std::ranges::sort(order);
  std::vector<Deviation> ordered;
  for (const auto& [rank, at] : order) {
    ordered.push_back(std::move(all[at]));
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
      all.push_back({.pause = {{.kind = Switch::Kind::pause, .from = actor, .step = step}}});
    }
  }
  for (std::size_t left = all.size(); left > 1; --left) {
    std::swap(all[left - 1], all[next_random(chance) % left]);
  }
  if (!clean.turns.empty()) {
    order_by_promise(all, clean.turns);
  }
  return all;
}

void apply(const Deviation& deviation, Plan& plan) {
  plan.switches = deviation.pause;
  if (deviation.pause.empty()) {
    plan.choices.assign(deviation.question + 1, 0);
    plan.choices.back() = deviation.answer;
  }
}

}  // namespace lastref::harness
