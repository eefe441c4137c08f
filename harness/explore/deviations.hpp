// Deviations: the schedules of a scenario that differ from the usual one in one place, and those
// that take a step of one actor between two of another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/choice/switches.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// One answer other than the usual one, or the pause of one actor, or its pause until another actor
/// is about to take a conflicting step.
struct Deviation {
  std::size_t question = 0;
  std::uint32_t answer = 0;
  Switches switches = {};  ///< Empty: it is an answer.
};

/// Of one scenario, in which the conflicting pairs of steps may be many.
inline constexpr std::size_t conflicts_max = 1000;

/// Those of a clean run that had an estimate, in random order. If its turns are known, those come
/// first that change the order of steps on an object of several actors, and of each such place one
/// before the second of another; and there are up to `conflicts_max` that pause an actor before a
/// step until another one is about to take a later step that conflicts with it.
std::vector<Deviation> deviations_of(const Outcome& clean, std::uint64_t chance);

/// Sets the answers or switches of the plan.
void apply(const Deviation& deviation, Plan& plan);

}  // namespace lastref::harness
