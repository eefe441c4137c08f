// FaultDraw: draws faults of the matrices of many scenarios, so that each moment of the program has
// its share.
//
// Most cells of a matrix are at moments that all scenarios have, such as the start of a tree, or
// are the same fault in each round of a loop. Therefore a moment is drawn first, more often if few
// scenarios have it; then the kind of fault, a death, an error or another one; then the fault.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "harness/explore/site_matrix.hpp"
#include "harness/scenario/fault.hpp"

namespace lastref::harness {

/// The calls of one run, by their moments.
struct CrossedMoments {
  struct Place {
    std::uint64_t weight = 0;
    std::vector<std::size_t> crossings = {};  ///< Indices
  };
  std::vector<Crossing> crossings = {};
  std::vector<Place> places = {};
};

class FaultDraw {
 public:
  explicit FaultDraw(std::size_t scenarios) : places_(scenarios) {}

  /// To be called once for each scenario, or not at all if it has no faults.
  void learn(std::size_t scenario, const ScenarioMatrix& matrix);
  /// A fault of the scenario; none if it has none. Depends on the matrices that are known.
  std::optional<Fault> draw(std::size_t scenario, std::uint64_t& chance) const;

  /// To draw faults at the calls of a run that is unlike the clean ones. A moment that few
  /// scenarios have, or none, is drawn more often.
  CrossedMoments moments_in(std::vector<Crossing> crossings) const;
  static std::optional<Fault> draw(const CrossedMoments& of_run, std::uint64_t& chance);

 private:
  using Kinds = std::array<std::vector<Fault>, 3>;  ///< Deaths, errors, others

  /// The faults of a scenario at one moment.
  struct Place {
    std::size_t moment = 0;
    bool is_allocation = false;
    Kinds kinds;
  };

  static std::uint64_t weight_of(bool is_allocation, std::uint64_t scenarios) noexcept;
  /// One of a kind that is drawn first.
  static std::optional<Fault> draw(const Kinds& kinds, std::uint64_t& chance);

  std::unordered_map<std::uint64_t, std::size_t> moments_;  ///< By their hash
  std::vector<std::uint64_t> scenarios_;                    ///< By moment: how many have it
  std::vector<std::vector<Place>> places_;                  ///< By scenario
};

}  // namespace lastref::harness
