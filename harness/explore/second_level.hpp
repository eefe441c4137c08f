// Second level: faults at moments of the program that no clean run has, because something has to go
// wrong first: a new tracker, the way back from an error, what is done about the dead.
//
// A first fault is one of the matrix, and what its run crosses after it struck is looked at. For
// each moment (see site_matrix) that was in no clean run of any scenario, one crossing is drawn by
// the seed, with the first fault that led to it; there each fault strikes that is worth planning.
// Whatever order the runs are added in, the same is drawn. Known plans come besides.
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

/// A fault that only comes after another one.
struct Pair {
  std::size_t scenario = 0;
  Fault first;
  Fault second;

  auto operator<=>(const Pair&) const = default;
};

/// Those of one scenario, of pairs that are sorted.
std::span<const Pair> pairs_of(std::span<const Pair> sorted, std::size_t scenario);

/// Faults for one run.
struct Together {
  std::size_t scenario = 0;
  std::vector<Fault> faults = {};
  bool all_strike = true;  ///< Or the first one does.
  std::optional<std::uint64_t> seed = {};
};

/// The known plans of the scenarios, and then the pairs.
std::vector<Together> together(std::span<const Pair> pairs,
                               std::span<const Scenario* const> scenarios,
                               std::span<const KnownPlan> known);

/// "tracker/poll()#4 kill_before, then root/poll()#2 pause"
std::string text_of(std::span<const Fault> faults);

class SecondLevel {
 public:
  SecondLevel(std::span<const ScenarioMatrix> first_level, std::uint64_t seed);

  /// What a run of the scenario crossed when `first` had struck. Gives those crossings that stand
  /// for their moments by now: who adds them again, and nothing else, comes to the same pairs.
  std::vector<Crossing> add(std::size_t scenario,
                            const Fault& first,
                            std::span<const Crossing> after);
  /// Moments that only such runs have.
  std::size_t moments() const noexcept { return drawn_.size(); }
  /// Sorted, each once.
  std::vector<Pair> pairs() const;

 private:
  /// The crossing that stands for a moment: of all that were added the one with the least lot.
  struct Drawn {
    std::uint64_t lot = ~std::uint64_t{0};
    std::size_t scenario = 0;
    Fault first;
    Crossing crossing;
  };

  std::uint64_t seed_;
  std::set<Moment> clean_;
  std::map<Moment, Drawn> drawn_;
};

}  // namespace lastref::harness
