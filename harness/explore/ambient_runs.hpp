// Ambient runs: scenarios in other kinds of processes. Each runs clean first, and then with kills
// drawn from the calls that it made there.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "harness/explore/campaign.hpp"
#include "harness/explore/jobs.hpp"
#include "harness/explore/sampler.hpp"

namespace lastref::harness {

class AmbientRuns {
 public:
  struct Run {
    std::size_t scenario = 0;
    std::size_t number = 0;
    Plan plan;
  };

  /// Both must outlive it; the report gets the numbers of planned and executed runs.
  AmbientRuns(const CampaignOptions& options, CampaignResults& report)
      : options_(options), report_(report) {}

  /// Lists the clean runs of the scenarios drawn, in each ambient that can play them. A shard has a
  /// part of them.
  void plan(std::span<const std::size_t> scenarios, const Sampler& sampler);

  /// The number of runs if each scenario has as many kills as are wanted.
  std::size_t most() const noexcept { return settings_.size() * (1 + report_.kills_in_ambient); }
  bool has_more() const noexcept { return given_ < settings_.size(); }
  /// Call it only if has_more().
  Run next();

  /// Counts a finished run, and lists the kills that follow from a clean one.
  void end(const Done& done);

 private:
  /// One scenario in one ambient, with or without a fault.
  struct Setting {
    std::size_t ambient = 0;
    std::size_t scenario = 0;
    std::size_t number = 0;  ///< Of all shards; clean ones come first.
    std::optional<Fault> kill = {};
  };

  const CampaignOptions& options_;
  CampaignResults& report_;
  std::vector<Setting> settings_;  ///< First all clean ones
  std::size_t clean_ = 0;          ///< Of all shards
  std::size_t given_ = 0;
};

}  // namespace lastref::harness
