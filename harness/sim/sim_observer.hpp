// observe: asks the tracker of a run for its counts, while no actor runs.
#pragma once

#include "harness/sim/sim_run.hpp"

namespace lastref::harness::sim {

/// Connects as an unrelated process, lets only the tracker run until it has answered, and records
/// the answer in the journal. None of this counts as a point of the run. Does nothing if no tracker
/// listens.
void observe(SimRun& run, std::string_view fact);

/// The same when other actors may be about to send something, for example right after a kill.
void observe_at_once(SimRun& run);

}  // namespace lastref::harness::sim
