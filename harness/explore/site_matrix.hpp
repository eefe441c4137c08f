// Site matrix: the cells of all matrices, without those that repeat another cell at the same site
// of
// the program.
//
// A site is a role, a call, and the call stack of the implementation that leads to it
// (instrument/callers): the first call of a tree's start is one site in a hundred scenarios, and so
// are the thousand rounds of a loop. For each site and each fault a few cells represent all. A seed
// draws them from as many scenarios as possible, because the effect of a fault also depends on the
// rest of the state. Other seeds draw others. A cell with unknown callers represents itself.
//
// Pure: the same matrices and seed give the same cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/scenario/fault.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// A moment of the program: a role without its number, a call, and its callers.
struct Moment {
  std::string role;
  std::string name;
  std::uint32_t callers = 0;

  auto operator<=>(const Moment&) const = default;
};

Moment moment_of(const Site& site, std::uint32_t callers);

/// The number of cells that represent all with the same moment and kind of fault. What a death
/// leaves depends on all other state. The handling of an error, or of another order, depends mainly
/// on the code around it; and most moments have several errors, each in scenarios of its own.
std::size_t cells_for(FaultKind kind) noexcept;

/// The matrix of one scenario, and the callers of its sites.
struct ScenarioMatrix {
  std::vector<Fault> faults;
  std::map<Site, std::uint32_t> callers;
};

/// A fault of one scenario, both by their index.
struct Cell {
  std::size_t scenario = 0;
  std::size_t fault = 0;

  auto operator<=>(const Cell&) const = default;
};

ScenarioMatrix scenario_matrix_of(std::span<const Crossing> clean);

/// Every cell.
std::vector<Cell> all_cells_of(std::span<const ScenarioMatrix> matrices);
/// Sorted, without duplicates.
std::vector<Cell> site_matrix_of(std::span<const ScenarioMatrix> matrices, std::uint64_t seed);

/// The number of call stacks, each in a role, that lead to an allocation.
std::size_t allocation_sites_of(std::span<const ScenarioMatrix> matrices);

/// Reorders them so that a budget that ends early has covered everything a little; always the same
/// order.
void mix(std::vector<Cell>& cells);

}  // namespace lastref::harness
