// Progress: the progress of a campaign, for the terminal.
#pragma once

#include <cstddef>

#include "harness/platform/named_enum.hpp"

namespace lastref::harness {

/// The phases of a campaign, in this order.
LASTREF_NAMED_ENUM(CampaignPhase,
                   (clean, "clean runs"),
                   (matrix, "matrix"),
                   (second_level, "second level"),
                   (ambients, "ambients"),
                   (random, "random runs"));

struct CampaignProgress {
  CampaignPhase phase = CampaignPhase::clean;
  std::size_t done = 0;   ///< of this phase
  std::size_t total = 0;  ///< 0: as many as fit into the budget
  std::size_t runs = 0;
  std::size_t violations = 0;
  double seconds = 0;
};

}  // namespace lastref::harness
