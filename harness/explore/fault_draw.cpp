#include "harness/explore/fault_draw.hpp"

#include <iterator>
#include <string_view>

#include "harness/choice/choices.hpp"

namespace lastref::harness {
namespace {

std::size_t kind_of(const Fault& fault) noexcept {
  return is_kill(fault.kind) ? 0 : fault.error != 0 ? 1 : 2;
}

}  // namespace

void FaultDraw::learn(std::size_t scenario, const ScenarioMatrix& matrix) {
  std::map<std::size_t, Place> places;
  for (const Fault& fault : matrix.faults) {
    const auto callers = matrix.callers.find(fault.site);
    const auto [at, is_new] = moments_.try_emplace(
        moment_of(fault.site, callers == matrix.callers.end() ? 0 : callers->second),
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
std::uint64_t FaultDraw::weight_of(const Place& place) const noexcept {
  constexpr std::uint64_t all = 1U << 20U;
  return all / scenarios_[place.moment] / (place.is_allocation ? 4 : 1);
}

std::optional<Fault> FaultDraw::draw(std::size_t scenario, std::uint64_t& chance) const {
  const std::vector<Place>& places = places_[scenario];
  if (places.empty()) {
    return std::nullopt;
  }
  std::uint64_t sum = 0;
  for (const Place& each : places) {
    sum += weight_of(each);
  }
  std::uint64_t drawn = next_random(chance) % sum;
  std::size_t at = 0;
  while (drawn >= weight_of(places[at])) {
    drawn -= weight_of(places[at++]);
  }
  std::vector<const std::vector<Fault>*> kinds;
  for (const std::vector<Fault>& each : places[at].kinds) {
    if (!each.empty()) {
      kinds.push_back(&each);
    }
  }
  const std::vector<Fault>& faults = *kinds[next_random(chance) % kinds.size()];
  return faults[next_random(chance) % faults.size()];
}

}  // namespace lastref::harness
