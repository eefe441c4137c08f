// Deviations: all schedules of a scenario that differ from the usual one in one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/choice/switches.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// One answer other than the usual one, or the pause of one actor.
struct Deviation {
  std::size_t question = 0;
  std::uint32_t answer = 0;
  Switches pause = {};  ///< Empty: it is an answer.
};

/// Those of a clean run that had an estimate, in random order: neighbours in a run mostly have the
/// same result. If its turns are known, those come first that change the order of steps on an
/// object of several actors, and of each such place one before the second of another.
std::vector<Deviation> deviations_of(const Outcome& clean, std::uint64_t chance);

/// Sets the answers or switches of the plan.
void apply(const Deviation& deviation, Plan& plan);

}  // namespace lastref::harness
