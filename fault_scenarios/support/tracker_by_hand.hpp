// TrackerByHand: a tracker that a scenario starts itself, as nobody does who has a Client.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <lastref/owners.hpp>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

struct TrackerByHand {
  os::UniqueFd read;  ///< of a pipe; the tracker has it as descriptor 3
  os::UniqueFd write;
  os::UniqueFd process = {};
};

/// Nothing if the pipe or the process could not be made.
std::optional<TrackerByHand> start_tracker(Stage& stage, std::vector<std::string> arguments);

void wait_for_end(Stage& stage, const TrackerByHand& tracker);

}  // namespace lastref::harness
