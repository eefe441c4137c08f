// ReportBuilder: adds outcomes to a report. It does not decide what to run.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/explore/jobs.hpp"
#include "harness/report/campaign_results.hpp"
#include "harness/report/violation_groups.hpp"

namespace lastref::harness {

/// Which probes the runs of a campaign saw, the number of runs for each, and its first run.
class ProbeCounts {
 public:
  /// `world` is the world of the runs; it outlives the object.
  explicit ProbeCounts(std::string_view world);

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

class ReportBuilder {
 public:
  explicit ReportBuilder(std::string world) : world_(std::move(world)), probe_counts_(world_) {}
  ReportBuilder(const ReportBuilder&) = delete;
  ReportBuilder& operator=(const ReportBuilder&) = delete;
  ~ReportBuilder() = default;

  /// Counts the result of one job. `scenario` is its index in the report.
  void add(CampaignResults& report, const Scenario& scenario, const Done& done);
  /// Whether one of its findings may be shown in full.
  bool may_show(const Scenario& scenario, const Job& job, const Outcome& outcome) const;
  void reach(std::size_t point) { reached_.set(point); }
  const PointSet& reached() const noexcept { return reached_; }
  ProbeCounts& probe_counts() noexcept { return probe_counts_; }
  /// Fills in points, probes and groups.
  void finish(CampaignResults& report) const;

 private:
  void add_outcome(CampaignResults& report, const Outcome& outcome);
  void add_violations(CampaignResults& report, const Scenario& scenario, const Done& done);
  void compare(CampaignResults& report, const Scenario& scenario, const Done& done) const;

  std::string world_;
  PointSet reached_;
  ProbeCounts probe_counts_;
  ViolationGroups groups_;
};

}  // namespace lastref::harness
