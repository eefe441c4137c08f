#include "harness/sim/happens_before.hpp"

#include "harness/choice/choices.hpp"

namespace lastref::harness::sim {
namespace {

/// Depends on the order of its arguments.
std::uint64_t mixed(std::uint64_t one, std::uint64_t other) noexcept {
  std::uint64_t state = one * 0x9e3779b97f4a7c15U + other;
  return next_random(state);
}

}  // namespace

void HappensBefore::end_step(std::uint32_t actor, std::span<const ObjectAccess> accesses) {
  // A sum, as the order in which one step accesses its objects follows from the step.
  std::uint64_t before = 0;
  for (const ObjectAccess& each : accesses) {
    Steps& steps = objects_[each.object];
    if (conflict(each.access, steps.access)) {
      steps = {.access = each.access, .before = mixed(steps.before, steps.last), .last = 0};
    }
    before += mixed(steps.before, static_cast<std::uint64_t>(each.access));
  }
  const std::uint64_t step = mixed(before, actor + 1);
  for (const ObjectAccess& each : accesses) {
    objects_[each.object].last += step;
  }
  sum_ += step;
}

}  // namespace lastref::harness::sim
