// TrackerByHand: a tracker that a scenario starts itself, instead of through a Client.
#pragma once

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

/// Errors          those of make_pipe and spawn: nothing has been started.
Result<TrackerByHand> start_tracker(Stage& stage, std::vector<std::string> arguments);

/// The tracker is not a child of this process, so it need not be reaped.
[[nodiscard]] Status wait_for_end(Stage& stage, const TrackerByHand& tracker);

}  // namespace lastref::harness
