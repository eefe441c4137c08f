// Sightings: which probes the runs of a campaign saw, the number of runs for each, and its first
// run.
#pragma once

#include <string_view>
#include <vector>

#include "harness/explore/jobs.hpp"
#include "harness/report/campaign_results.hpp"

namespace lastref::harness {

class Sightings {
 public:
  /// `world` is the world of the runs; it outlives the object.
  explicit Sightings(std::string_view world);

  /// Counts the runs of one job. Jobs may come in any order: the first is the one made first.
  void add(const Scenario& scenario, const Done& done);
  /// An earlier campaign has seen the probe of that name.
  void remember(std::string_view name);
  /// Those that any run saw, or an earlier campaign.
  ProbeSet all() const;
  /// Every row of the table, in its order.
  const std::vector<ProbeReport>& rows() const noexcept { return rows_; }

 private:
  void add_run(const Scenario& scenario, const Job& job, const ProbeSet& seen);

  std::string_view world_;
  std::vector<ProbeReport> rows_;
};

}  // namespace lastref::harness
