// Campaign: the main job. Each scenario runs clean, twice; then every fault of its matrix strikes;
// then each runs in every ambient, clean and with a few kills drawn by the seed; then come random
// orders and pairs of faults. Scenarios that are too big for the matrix run clean alone, and twice
// only in a full campaign.
//
// What is tried is decided by the catalog, the seed and the clean runs alone: neither the budget
// nor the number of worlds changes the total, only how far the list is worked through. Where there
// is a budget, the big ones do not eat it: they run beside the matrix, in one world at a time, and
// second clean runs are made in its first half alone. What is left out is said.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/explore/known_plans.hpp"
#include "harness/explore/progress_file.hpp"
#include "harness/report/progress.hpp"
#include "harness/report/report.hpp"
#include "harness/scenario/ambient.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// Random runs where neither their number nor a budget is given.
inline constexpr std::size_t random_runs_usual = 5000;

struct CampaignOptions {
  std::vector<const Scenario*> scenarios;
  /// In which each scenario of the matrix runs as well.
  std::vector<const Ambient*> ambients = {};
  std::span<const KnownPlan> known = {};  ///< Of these and of other scenarios.
  bool only_ambients = false;             ///< And nowhere else.
  bool all_scenarios = true;  ///< Nothing was left out, so each point has to be reached.
  bool full = false;          ///< Every cell of every matrix, and not the site matrix alone.
  /// What is drawn, by the seed, of the second level, of the allocations, of the scenarios in each
  /// ambient, and of the usual number of random runs. Known plans are all tried.
  double share = 1;
  ProbeDemand probes = ProbeDemand::counted;
  std::optional<double> budget;  ///< seconds; none: until all is done.
  bool stop_at_first = false;    ///< Makes no more runs once there is a violation.
  std::uint64_t seed = 0;
  /// Random runs that are made at most; a budget ends them in any case.
  std::optional<std::size_t> random_runs_max;
  /// Of the matrix only faults whose column in the report begins with this; empty: all.
  std::string only = {};
  /// Asked between runs, by any thread: whether somebody wants it to end now.
  std::function<bool()> is_interrupted = [] { return false; };
  ProgressFile* memory = nullptr;  ///< Skips what an earlier campaign executed.
  std::function<void(const CampaignProgress&)> progress = [](const CampaignProgress&) {};
  std::function<double()> clock;  ///< Instead of seconds_now.
};

/// Worlds are one of a kind, and each is used by one thread.
Report run_campaign(std::span<World* const> worlds, const CampaignOptions& options);

}  // namespace lastref::harness
