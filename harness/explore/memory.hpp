// Memory: what a campaign takes from the progress file of the one that it goes on with, and what
// each of its runs leaves there.
#pragma once

#include <span>

#include "harness/explore/progress_file.hpp"
#include "harness/explore/second_level.hpp"
#include "harness/explore/tally.hpp"

namespace lastref::harness {

/// What that campaign reached is reached, and what it saw is seen.
void recall(const ProgressFile& memory, Tally& tally);
/// Where its faults led to. Scenarios are known by their names, and their order is this campaign's.
void recall(const ProgressFile& memory,
            std::span<const ScenarioReport> scenarios,
            SecondLevel& second_level);

/// The points that a run was the first to reach, and the probes that it saw.
void remember(const PointSet& fresh, const ProbeSet& probes, ProgressFile& memory);

}  // namespace lastref::harness
