// Progress: the progress of a campaign, for people who wait.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lastref::harness {

/// The phases of a campaign, in this order.
enum class CampaignPhase : std::uint8_t { clean, matrix, second_level, ambients, random };

struct CampaignProgress {
  CampaignPhase phase = CampaignPhase::clean;
  std::size_t done = 0;   ///< of this phase
  std::size_t total = 0;  ///< 0: as many as the budget allows
  std::size_t runs = 0;
  std::size_t violations = 0;
  double seconds = 0;
};

}  // namespace lastref::harness
