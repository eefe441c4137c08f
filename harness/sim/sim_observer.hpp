// observe: asks the tracker of a run for its counts, at a moment when nothing moves.
#pragma once

#include "harness/sim/sim_run.hpp"

namespace lastref::harness::sim {

/// Connects as a stranger, lets the tracker alone run until it has answered, and journals what it
/// said. Nothing of it counts as a point of the run. Does nothing if no tracker listens.
void observe(SimRun& run, std::string_view fact);

/// The same when others may be about to say something: right after a kill, say.
void observe_at_once(SimRun& run);

}  // namespace lastref::harness::sim
