#include "harness/explore/site_matrix.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "harness/choice/choices.hpp"
#include "harness/explore/matrix.hpp"

namespace lastref::harness {
namespace {

/// A moment, and the kind of fault at it.
struct SiteFault {
  Moment moment;
  FaultKind kind = FaultKind::kill_before;
  int error = 0;
  bool whole_tree = false;

  auto operator<=>(const SiteFault&) const = default;
};

SiteFault site_fault_of(const Fault& fault, const ScenarioMatrix& of) {
  const auto callers = of.callers.find(fault.site);
  return {.moment = moment_of(fault.site, callers == of.callers.end() ? 0 : callers->second),
          .kind = fault.kind,
          .error = fault.error,
          .whole_tree = fault.whole_tree};
}

/// A candidate for the matrix. Those with the smallest turn are taken, and of those the ones with
/// the smallest draw.
struct Candidate {
  std::size_t turn = 0;  ///< Number of cells of its scenario that are taken before it.
  std::uint64_t draw = 0;
  Cell cell;

  auto operator<=>(const Candidate&) const = default;
};

std::uint64_t draw_of_cell(std::uint64_t seed, const Cell& cell) noexcept {
  std::uint64_t chance = seed ^ (cell.scenario << 32U) ^ cell.fault;
  next_random(chance);
  return next_random(chance);
}

/// Keeps at most `most`, from as many scenarios as possible.
void draw(std::vector<Candidate>& candidates, std::size_t most) {
  std::ranges::sort(candidates);
  std::map<std::size_t, std::size_t> turns;
  for (Candidate& each : candidates) {
    each.turn = turns[each.cell.scenario]++;
  }
  std::ranges::sort(candidates);
  candidates.resize(std::min(candidates.size(), most));
}

}  // namespace

std::size_t cells_for(FaultKind kind) noexcept {
  return is_kill(kind) ? 4 : 2;
}

Moment moment_of(const Site& site, std::uint32_t callers) {
  return {.role = std::string(base_of(site.role)), .name = site.name, .callers = callers};
}

ScenarioMatrix scenario_matrix_of(std::span<const Crossing> clean) {
  ScenarioMatrix matrix{.faults = matrix_of(clean), .callers = {}};
  for (const Crossing& crossing : clean) {
    matrix.callers.emplace(crossing.site, crossing.callers);
  }
  return matrix;
}

std::vector<Cell> all_cells_of(std::span<const ScenarioMatrix> matrices) {
  std::vector<Cell> cells;
  for (std::size_t scenario = 0; scenario < matrices.size(); ++scenario) {
    for (std::size_t fault = 0; fault < matrices[scenario].faults.size(); ++fault) {
      cells.push_back({.scenario = scenario, .fault = fault});
    }
  }
  return cells;
}

std::vector<Cell> site_matrix_of(std::span<const ScenarioMatrix> matrices, std::uint64_t seed) {
  std::vector<Cell> cells;
  std::map<SiteFault, std::vector<Candidate>> candidates;
  for (const Cell& cell : all_cells_of(matrices)) {
    const ScenarioMatrix& matrix = matrices[cell.scenario];
    const SiteFault site_fault = site_fault_of(matrix.faults[cell.fault], matrix);
    if (site_fault.moment.callers == 0) {
      cells.push_back(cell);
    } else {
      candidates[site_fault].push_back({.draw = draw_of_cell(seed, cell), .cell = cell});
    }
  }
  for (auto& [site_fault, mine] : candidates) {
    // The handling of a failed allocation depends on the callers alone.
    draw(mine, site_fault.moment.name == allocation_site ? 1 : cells_for(site_fault.kind));
    for (const Candidate& drawn : mine) {
      cells.push_back(drawn.cell);
    }
  }
  std::ranges::sort(cells);
  return cells;
}

std::size_t allocation_sites_of(std::span<const ScenarioMatrix> matrices) {
  std::set<Moment> sites;
  for (const ScenarioMatrix& matrix : matrices) {
    for (const auto& [site, callers] : matrix.callers) {
      if (is_allocation(site)) {
        sites.insert(moment_of(site, callers));
      }
    }
  }
  return sites.size();
}

void mix(std::vector<Cell>& cells) {
  std::uint64_t chance = cells.size();
  for (std::size_t left = cells.size(); left > 1; --left) {
    std::swap(cells[left - 1], cells[next_random(chance) % left]);
  }
}

}  // namespace lastref::harness
