// ComparedWorld: runs a scenario in another world, and lets clean runs say whether a fault that
// nobody may notice has changed what it came to.
//
// What clean runs come to is learned once for all worlds of a kind, run by run, and no more of it
// than is asked for: what one clean run has come to is possible, whatever others come to.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "harness/oracle/results.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// Worlds in several threads share it.
class CleanResults {
 public:
  /// What `results` are, beside clean runs of the scenario. More of those are made in `world` while
  /// the ones before had nothing like it.
  Judgement compare(World& world, const Scenario& scenario, const RunResults& results);
  /// Runs that were made for it.
  std::size_t runs() const noexcept { return runs_; }

 private:
  struct OfScenario {
    std::mutex mutex;
    PossibleResults possible = {};
    std::vector<Plan> plans = clean_plans_to_compare();
    std::size_t next = 0;  ///< of the plans
    bool has_pauses = false;
  };

  /// Makes one more clean run; false if there is none that has not been made.
  bool learn(World& world, const Scenario& scenario, OfScenario& mine);
  OfScenario& of(const std::string& scenario);

  std::mutex mutex_;  ///< of the map
  std::map<std::string, OfScenario> scenarios_;
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

/// Worlds of a kind, compared: they learn what clean runs come to once for all.
class ComparedWorlds {
 public:
  /// They outlive it.
  explicit ComparedWorlds(std::span<World* const> worlds);

  std::span<World* const> all() const noexcept { return all_; }
  /// Clean runs that were made to learn from.
  std::size_t runs_to_compare() const noexcept { return clean_.runs(); }

 private:
  CleanResults clean_;
  std::vector<std::unique_ptr<World>> owned_;
  std::vector<World*> all_;
};

}  // namespace lastref::harness
