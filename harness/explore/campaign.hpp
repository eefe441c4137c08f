// Campaign: runs every scenario clean, twice, and then injects every fault of its matrix. Then each
// scenario runs in every ambient, clean and with a few kills drawn by the seed. Random orders and
// pairs of faults come last, with random values of parameters. Scenarios that are too big for the
// matrix only run clean, and twice only in a full campaign.
//
// The catalog, the seed and the clean runs alone decide what is tried. Neither the budget nor the
// number of worlds changes the total, only how far the list is processed. If there is a budget, the
// big scenarios do not use it up: they run during the matrix, in one world at a time, and second
// clean runs are made only in its first half. The report names what was left out.
//
// A shard runs a part of the list; the results of all shards can be merged. Each shard makes the
// clean runs of all scenarios, because the plan follows from them, and counts its own. The others
// are divided: faults in the order in which they are executed, ambients by scenario, random runs by
// number. What the second level injects follows from the faults of the whole first level, which no
// shard executes. So each shard injects what would follow from its own faults. That is at least its
// part of the whole second level; merging counts what is in the whole one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/choice/shard.hpp"
#include "harness/explore/known_plans.hpp"
#include "harness/explore/progress_file.hpp"
#include "harness/report/campaign_results.hpp"
#include "harness/report/progress.hpp"
#include "harness/scenario/ambient.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// Number of random runs if neither a number nor a budget is given.
inline constexpr std::size_t random_runs_usual = 5000;

struct CampaignOptions {
  std::vector<const Scenario*> scenarios;
  /// The ambients in which each scenario of the matrix runs as well.
  std::vector<const Ambient*> ambients = {};
  std::span<const KnownPlan> known = {};  ///< Of these and of other scenarios.
  bool only_ambients = false;             ///< No runs outside of ambients.
  bool all_scenarios = true;  ///< Nothing was left out, so each point has to be reached.
  bool full = false;          ///< Every cell of every matrix, and not the site matrix alone.
  /// The share drawn, by the seed, of the second level, of the allocations, of the scenarios in
  /// each ambient, and of the usual number of random runs. All known plans are tried.
  double share = 1;
  ProbeDemand probes = ProbeDemand::counted;
  Shard shard = {};
  std::optional<double> budget;  ///< seconds; none: until all is done.
  bool stop_at_first = false;    ///< Starts no more runs after a violation.
  std::uint64_t seed = 0;
  /// The maximum number of random runs; a budget ends them in any case.
  std::optional<std::size_t> random_runs_max;
  /// In every run, as in Plan, but usual values too. Each scenario has to have these parameters.
  ParameterValues parameters = {};
  /// Whether random runs draw the values of the other parameters, by the seed.
  bool draws_parameters = true;
  /// Only faults of the matrix in columns of the report that begin with this; empty: all.
  std::string only = {};
  /// Called between runs, by any thread: whether the campaign is to end now.
  std::function<bool()> is_interrupted = [] { return false; };
  ProgressFile* memory = nullptr;  ///< Skips what an earlier campaign executed.
  std::function<void(const CampaignProgress&)> progress = [](const CampaignProgress&) {};
  std::function<double()> clock;  ///< Instead of seconds_now.
};

/// All worlds are of one kind, and each is used by one thread.
CampaignResults run_campaign(std::span<World* const> worlds, const CampaignOptions& options);

}  // namespace lastref::harness
