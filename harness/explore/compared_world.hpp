// ComparedWorld: runs a scenario in another world, and compares the results with those of clean
// runs if no fault has a visible effect.
//
// The results of clean runs are learned once for all worlds of a kind, run by run, and only as far
// as needed: the result of any clean run is possible, whatever the others show.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/oracle/results.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// Shared by worlds in several threads.
class CleanResults {
 public:
  /// The judgement on `results`, compared with clean runs of the scenario with the same parameters.
  /// It makes more of those in `world` while none so far had these results.
  Judgement compare(World& world,
                    const Scenario& scenario,
                    const ParameterValues& parameters,
                    const RunResults& results);
  /// The number of clean runs made for it.
  std::size_t runs() const noexcept { return runs_; }

 private:
  struct OfScenario {
    std::mutex mutex;
    ParameterValues parameters = {};
    PossibleResults possible = {};
    std::vector<Plan> plans = clean_plans_to_compare();
    std::size_t next = 0;  ///< index in the plans
    bool has_pauses = false;
  };

  /// Makes one more clean run; false if all have been made.
  bool learn(World& world, const Scenario& scenario, OfScenario& mine);
  OfScenario& of(const std::string& scenario, const ParameterValues& parameters);

  std::mutex mutex_;  ///< of the map
  std::map<std::pair<std::string, ParameterValues>, OfScenario> scenarios_;
  std::atomic<std::size_t> runs_ = 0;
};

class ComparedWorld final : public World {
 public:
  /// Both outlive it.
  ComparedWorld(World& world, CleanResults& clean) : world_(world), clean_(clean) {}

  const char* name() const noexcept override { return world_.name(); }
  Outcome run(const Scenario& scenario, const Plan& plan) override;

 private:
  World& world_;
  CleanResults& clean_;
};

/// The compared worlds of one kind, which share the results of clean runs.
class ComparedWorlds {
 public:
  /// The worlds must outlive it.
  explicit ComparedWorlds(std::span<World* const> worlds);

  std::span<World* const> all() const noexcept { return all_; }
  /// The number of clean runs that possible results are taken from.
  std::size_t runs_to_compare() const noexcept { return clean_.runs(); }

 private:
  CleanResults clean_;
  std::vector<std::unique_ptr<World>> owned_;
  std::vector<World*> all_;
};

}  // namespace lastref::harness
