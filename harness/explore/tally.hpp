// Tally: adds outcomes to a report. It does not decide what to run.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "harness/explore/jobs.hpp"
#include "harness/explore/sightings.hpp"
#include "harness/report/campaign_results.hpp"

namespace lastref::harness {

class Tally {
 public:
  explicit Tally(std::string world) : world_(std::move(world)), sightings_(world_) {}
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;
  ~Tally() = default;

  /// Counts the result of one job. `scenario` is its index in the report.
  void add(CampaignResults& report, const Scenario& scenario, const Done& done);
  void reach(std::size_t point) { reached_.set(point); }
  const PointSet& reached() const noexcept { return reached_; }
  Sightings& sightings() noexcept { return sightings_; }
  /// Fills in points, probes and groups.
  void finish(CampaignResults& report) const;

 private:
  void add_outcome(CampaignResults& report, const Outcome& outcome);
  void add_violations(CampaignResults& report, const Scenario& scenario, const Done& done);
  void compare(CampaignResults& report, const Scenario& scenario, const Done& done) const;

  std::string world_;
  PointSet reached_;
  Sightings sightings_;
  std::map<std::pair<std::string, std::string>, ViolationGroup> groups_;
};

}  // namespace lastref::harness
