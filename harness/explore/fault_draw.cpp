#include "harness/explore/fault_draw.hpp"

#include <algorithm>
#include <utility>

#include "harness/choice/choices.hpp"
#include "harness/explore/matrix.hpp"
#include "harness/platform/hash.hpp"

namespace lastref::harness {
namespace {

std::size_t kind_of(const Fault& fault) noexcept {
  return is_kill(fault.kind) ? 0 : fault.error != 0 ? 1 : 2;
}

/// See Moment.
std::uint64_t hash_of_moment(const Site& site, std::uint32_t callers) {
  std::uint64_t mixed = hash_of(base_of(site.role)) + callers;
  mixed = next_random(mixed) + hash_of(site.name);
  return next_random(mixed);
}

/// One of them, drawn by weight; null: there are none.
template <typename Place, typename WeightOf>
const Place* drawn_of(const std::vector<Place>& places, std::uint64_t& chance, WeightOf weight_of) {
  std::uint64_t sum = 0;
  for (const Place& each : places) {
    sum += weight_of(each);
  }
  if (sum == 0) {
    return nullptr;
  }
  std::uint64_t drawn = next_random(chance) % sum;
  std::size_t at = 0;
  while (drawn >= weight_of(places[at])) {
    drawn -= weight_of(places[at++]);
  }
  return &places[at];
}

}  // namespace

void FaultDraw::learn(std::size_t scenario, const ScenarioMatrix& matrix) {
  std::map<std::size_t, Place> places;
  for (const Fault& fault : matrix.faults) {
    const auto callers = matrix.callers.find(fault.site);
    const auto [at, is_new] = moments_.try_emplace(
        hash_of_moment(fault.site, callers == matrix.callers.end() ? 0 : callers->second),
        moments_.size());
    Place& place = places[at->second];
    place.moment = at->second;
    place.is_allocation = is_allocation(fault.site);
    place.kinds[kind_of(fault)].push_back(fault);
  }
  scenarios_.resize(moments_.size());
  for (auto& [moment, place] : places) {
    ++scenarios_[moment];
    places_[scenario].push_back(std::move(place));
  }
}

/// Allocations have many call stacks, and one fault.
std::uint64_t FaultDraw::weight_of(bool is_allocation, std::uint64_t scenarios) noexcept {
  constexpr std::uint64_t all = 1U << 20U;
  return all / std::max<std::uint64_t>(scenarios, 1) / (is_allocation ? 4 : 1);
}

std::optional<Fault> FaultDraw::draw(const Kinds& kinds, std::uint64_t& chance) {
  std::vector<const std::vector<Fault>*> some;
  for (const std::vector<Fault>& each : kinds) {
    if (!each.empty()) {
      some.push_back(&each);
    }
  }
  if (some.empty()) {
    return std::nullopt;
  }
  const std::vector<Fault>& faults = *some[next_random(chance) % some.size()];
  return faults[next_random(chance) % faults.size()];
}

std::optional<Fault> FaultDraw::draw(std::size_t scenario, std::uint64_t& chance) const {
  const Place* const place = drawn_of(places_[scenario], chance, [this](const Place& each) {
    return weight_of(each.is_allocation, scenarios_[each.moment]);
  });
  return place == nullptr ? std::nullopt : draw(place->kinds, chance);
}

CrossedMoments FaultDraw::moments_in(std::vector<Crossing> crossings) const {
  CrossedMoments all{.crossings = std::move(crossings)};
  std::unordered_map<std::uint64_t, std::size_t> known;
  for (std::size_t at = 0; at < all.crossings.size(); ++at) {
    const Crossing& each = all.crossings[at];
    const std::uint64_t moment = hash_of_moment(each.site, each.callers);
    const auto elsewhere = moments_.find(moment);
    const auto [place, is_new] = known.try_emplace(moment, all.places.size());
    if (is_new) {
      const std::uint64_t scenarios =
          elsewhere == moments_.end() ? 1 : scenarios_[elsewhere->second];
      all.places.push_back({.weight = weight_of(is_allocation(each.site), scenarios)});
    }
    all.places[place->second].crossings.push_back(at);
  }
  return all;
}

std::optional<Fault> FaultDraw::draw(const CrossedMoments& of_run, std::uint64_t& chance) {
  const auto* const place = drawn_of(
      of_run.places, chance, [](const CrossedMoments::Place& each) { return each.weight; });
  if (place == nullptr) {
    return std::nullopt;
  }
  const std::size_t at = place->crossings[next_random(chance) % place->crossings.size()];
  Kinds kinds;
  for (Fault& fault : matrix_of({&of_run.crossings[at], 1})) {
    kinds[kind_of(fault)].push_back(std::move(fault));
  }
  return draw(kinds, chance);
}

}  // namespace lastref::harness
