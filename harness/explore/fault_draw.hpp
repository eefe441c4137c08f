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
#include <map>
#include <optional>
#include <vector>

#include "harness/explore/site_matrix.hpp"
#include "harness/scenario/fault.hpp"

namespace lastref::harness {

class FaultDraw {
 public:
  explicit FaultDraw(std::size_t scenarios) : places_(scenarios) {}

  /// To be called once for each scenario, or not at all if it has no faults.
  void learn(std::size_t scenario, const ScenarioMatrix& matrix);
  /// A fault of the scenario; none if it has none. Depends on the matrices that are known.
  std::optional<Fault> draw(std::size_t scenario, std::uint64_t& chance) const;

 private:
  /// The faults of a scenario at one moment.
  struct Place {
    std::size_t moment = 0;
    bool is_allocation = false;
    std::array<std::vector<Fault>, 3> kinds;  ///< Deaths, errors, others
  };

  std::uint64_t weight_of(const Place& place) const noexcept;

  std::map<Moment, std::size_t> moments_;
  std::vector<std::uint64_t> scenarios_;    ///< By moment: how many have it
  std::vector<std::vector<Place>> places_;  ///< By scenario
};

}  // namespace lastref::harness
