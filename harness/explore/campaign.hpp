// Campaign: the main job. Each scenario runs clean, twice; then every fault of its matrix strikes;
// then, as long as the budget lasts, random orders and pairs of faults. Scenarios that are too big
// for the matrix run clean alone.
//
// What is tried is decided by the catalog, the seed and the clean runs alone: neither the budget
// nor the number of worlds changes the total or the order, only how far the list is worked through.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/explore/progress_file.hpp"
#include "harness/explore/world.hpp"
#include "harness/report/report.hpp"

namespace lastref::harness {

enum class Stretch : std::uint8_t { clean, matrix, random };

/// How far it got, for people who wait.
struct Progress {
  Stretch stretch = Stretch::clean;
  std::size_t done = 0;   ///< of this stretch
  std::size_t total = 0;  ///< 0: as many as the budget allows
  std::size_t runs = 0;
  std::size_t violations = 0;
  double seconds = 0;
};

struct CampaignOptions {
  std::vector<const Scenario*> scenarios;
  bool all_scenarios = true;   ///< Nothing was left out, so each point has to be reached.
  double budget = 60;          ///< seconds
  bool stop_at_first = false;  ///< Makes no more runs once there is a violation.
  std::uint64_t seed = 0;
  /// Random runs that are made at most; the budget ends them in any case.
  std::optional<std::size_t> random_runs_max;
  ProgressFile* memory = nullptr;  ///< Skips what an earlier campaign executed.
  std::function<void(const Progress&)> progress = [](const Progress&) {};
  std::function<double()> clock;  ///< Instead of seconds_now.
};

/// Worlds are one of a kind, and each is used by one thread.
Report run_campaign(std::span<World* const> worlds, const CampaignOptions& options);

}  // namespace lastref::harness
