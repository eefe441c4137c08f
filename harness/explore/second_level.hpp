// Second level: faults at sites that no clean run reaches, because something has to fail first: a
// new
// tracker, the handling of an error, the clean-up of dead trees.
//
// The first fault is one of the matrix, and the crossings of its run after the injection are
// examined. For each site (see site_matrix) that was in no clean run of any scenario, the seed
// draws one crossing, with the first fault that led to it; all useful faults are injected there.
// The result does not depend on the order in which the runs are added. Known plans are added to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/explore/known_plans.hpp"
#include "harness/explore/site_matrix.hpp"
#include "harness/scenario/fault.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// A fault that follows another one.
struct Pair {
  std::size_t scenario = 0;
  Fault first;
  Fault second;

  auto operator<=>(const Pair&) const = default;
};

/// The pairs of one scenario, from a sorted list.
std::span<const Pair> pairs_of(std::span<const Pair> sorted, std::size_t scenario);

/// Faults for one run.
struct PlannedRun {
  std::size_t scenario = 0;
  std::vector<Fault> faults = {};
  bool all_strike = true;  ///< Or only the first one has to be injected.
  std::optional<std::uint64_t> seed = {};
};

/// The known plans of the scenarios, and then the pairs.
std::vector<PlannedRun> planned_runs(std::span<const Pair> pairs,
                                     std::span<const Scenario* const> scenarios,
                                     std::span<const KnownPlan> known);

/// "tracker/poll()#4 kill_before, then root/poll()#2 pause"
std::string text_of(std::span<const Fault> faults);

class SecondLevel {
 public:
  /// The crossing that represents a moment: of all that were added the one with the smallest draw.
  struct Drawn {
    std::uint64_t draw = ~std::uint64_t{0};
    std::size_t scenario = 0;
    Fault first;
    Crossing crossing;
  };

  SecondLevel(std::span<const ScenarioMatrix> first_level, std::uint64_t seed);

  /// The crossings of a run of the scenario after `first` was injected. Returns those crossings
  /// that represent their moments now: adding only these again gives the same pairs.
  std::vector<Crossing> add(std::size_t scenario,
                            const Fault& first,
                            std::span<const Crossing> after);
  /// The number of moments that only such runs have.
  std::size_t moments() const noexcept { return drawn_.size(); }
  const std::map<Moment, Drawn>& drawn() const noexcept { return drawn_; }
  /// Sorted, without duplicates.
  std::vector<Pair> pairs() const;

 private:
  std::uint64_t seed_;
  std::set<Moment> clean_;
  std::map<Moment, Drawn> drawn_;
};

}  // namespace lastref::harness
