// Site matrix: the cells of all matrices, less those that strike the program at a moment at which
// another cell strikes it as well.
//
// A moment is a role, a call, and the chain of the implementation's calls that leads to it
// (instrument/callers): the first call of a tree's start is one moment in a hundred scenarios, and
// so are the thousand rounds of a loop. For each moment and each fault a few cells stand for all,
// drawn by a seed from as many scenarios as have it: what a fault does depends on what else there
// is, too. Other seeds look at others. A cell whose callers are unknown stands for itself.
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

/// Where in the program a site is: a role whatever its incarnation, a call, and its callers.
struct Moment {
  std::string role;
  std::string name;
  std::uint32_t callers = 0;

  auto operator<=>(const Moment&) const = default;
};

Moment moment_of(const Site& site, std::uint32_t callers);

/// So many cells stand for all that strike the program at one moment in one way. What a death
/// leaves depends on all else that there is. What is done about an error, or in another order,
/// depends on the code around it above all; and most moments have several errors, each in scenarios
/// of its own.
std::size_t cells_for(FaultKind kind) noexcept;

/// The matrix of one scenario, and where its sites come from.
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
/// Sorted, each once.
std::vector<Cell> site_matrix_of(std::span<const ScenarioMatrix> matrices, std::uint64_t seed);

/// How many chains of callers, each in a role, lead to an allocation.
std::size_t allocation_sites_of(std::span<const ScenarioMatrix> matrices);

/// Brings them into an order in which a budget that ends early has looked everywhere a little;
/// always the same one.
void mix(std::vector<Cell>& cells);

}  // namespace lastref::harness
