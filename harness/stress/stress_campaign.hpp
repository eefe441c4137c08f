// StressCampaign: many runs without gates, of all scenarios in turn.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/kernel/kernel_world.hpp"
#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

struct StressCampaignOptions {
  const std::vector<Scenario>* scenarios = nullptr;  ///< Outlives the campaign.
  std::string pattern = {};                          ///< Empty: all that belong to the gate.
  std::uint64_t runs = 1000;
  std::uint64_t seed = 1;
  unsigned worlds = 2;
  bool first = false;  ///< Stop at the first violation.
  bool noise = false;  ///< Threads wait for random times, by the seed of a run.
  /// In every run; scenarios that do not have all of these are left out.
  ParameterValues parameters = {};
  bool draws_parameters = true;  ///< Others are drawn by the seed of a run.
};

struct StressViolation {
  std::string scenario;
  std::uint64_t seed = 0;
  Finding finding;
  std::vector<std::string> killed;
  std::string standard_error;
  ParameterValues parameters;
};

struct StressResults {
  std::uint64_t runs = 0;
  std::uint64_t runs_with_kills = 0;
  std::uint64_t killed = 0;
  std::size_t scenarios = 0;                    ///< the ones that were run
  std::map<std::string, std::string> left_out;  ///< by name, with the reason
  /// Scenarios outside the matrix, which run without kills, with the reason.
  std::map<std::string, std::string> without_kills;
  std::vector<StressViolation> violations;
};

class StressCampaign {
 public:
  /// Starts the worlds; to be called before the program has threads.
  explicit StressCampaign(StressCampaignOptions options);

  /// Why it cannot run here; empty if it can.
  const std::string& missing() const noexcept { return worlds_.front()->degraded(); }
  const std::vector<const Scenario*>& scenarios() const noexcept { return scenarios_; }

  /// Each scenario first runs without kills, which measures how long it takes. Then all run in
  /// turn; three of four runs of a scenario have kills: one, one or two. A scenario outside the
  /// matrix runs without kills. Reports its progress on `progress`.
  StressResults run(std::ostream& progress);

 private:
  struct Shared;
  void work(Shared& shared, KernelWorld& world);
  void try_one(Shared& shared, KernelWorld& world, std::uint64_t number);

  StressCampaignOptions options_;
  std::vector<const Scenario*> scenarios_;
  std::vector<std::unique_ptr<KernelWorld>> worlds_;
};

}  // namespace lastref::harness
