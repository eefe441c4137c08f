// GateResults: the results of all that a gate does: a campaign, the one with small limits, and the
// hunt before them.
#pragma once

#include <optional>

#include "harness/explore/hunt.hpp"
#include "harness/report/campaign_results.hpp"
#include "harness/report/report.hpp"

namespace lastref::harness {

struct GateResults {
  CampaignResults campaign;
  std::optional<CampaignResults> small = {};  ///< Of small limits
  std::optional<HuntResults> hunt = {};
};

Report report_of(const GateResults& results);

}  // namespace lastref::harness
