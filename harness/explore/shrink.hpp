// shrink: makes a run with findings smaller, while it violates the same claims.
#pragma once

#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// Replaces the run by a smaller one that violates at least the same claims. First it leaves out
/// unusual values of parameters. Then it leaves out faults (of random runs), parts of texts, and
/// switches of the schedule, until none of them can be left out. The schedule ends as a list of
/// answers, which each world accepts.
///
/// @param plan     of the run; replaced, as is its outcome.
/// @return         the number of switches and pauses that remain; 0 if the plan had only answers.
std::size_t shrink(World& world, const Scenario& scenario, Plan& plan, Outcome& outcome);

}  // namespace lastref::harness
