// Memory: what a campaign takes from the progress file of the one that it continues, and what each
// of its runs adds to it.
#pragma once

#include <span>

#include "harness/explore/progress_file.hpp"
#include "harness/explore/second_level.hpp"
#include "harness/explore/tally.hpp"

namespace lastref::harness {

/// Adds the points and probes that the earlier campaign reached.
void recall(const ProgressFile& memory, Tally& tally);
/// Adds the crossings that its faults led to. Scenarios are identified by name, and their order is
/// that of this campaign.
void recall(const ProgressFile& memory,
            std::span<const ScenarioReport> scenarios,
            SecondLevel& second_level);

/// Adds the points that a run was the first to reach, and the probes that it saw.
void remember(const PointSet& fresh, const ProbeSet& probes, ProgressFile& memory);

}  // namespace lastref::harness
