// observe: asks the tracker of a run for its counts, at a moment when nothing moves.
#pragma once

#include "harness/sim/sim_run.hpp"

namespace lastref::harness::sim {

/// Connects as a stranger, lets the tracker alone run until it has answered, and journals what it
/// said. Nothing of it counts as a point of the run. Does nothing if no tracker listens.
void observe(SimRun& run);

}  // namespace lastref::harness::sim
