// sweep_plan: chooses the faults of `lastref run --sweep`: which, and at which points of a clean
// run.
//
// Most calls of a program are those of its loader, its locale and its end. Faults there say little
// about the program. Chosen are calls on names below given folders, on pipes and sockets, and those
// that make processes, threads or descriptors; of equal calls of one process at one site the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/warden/points.hpp"
#include "harness/warden/tree_fault.hpp"

namespace lastref::harness::warden {

struct SweepPlan {
  /// One of each point, then the next one of each
  std::vector<TreeFault> faults;
  std::vector<std::size_t> sites = {};  ///< Of each of these: the number of its site
  /// What makes the call at each site; empty: unknown. Sites of other processes or calls differ.
  std::vector<std::string> site_names = {};
  /// World faults; each is the only fault of a run, as those above are.
  std::vector<std::string> of_whole_runs = {};
  std::size_t points = 0;                            ///< Chosen ones
  std::map<std::string, std::size_t> left_out = {};  ///< Points, by the reason

  /// Its faults as texts: those at points, then those of whole runs.
  std::vector<std::string> texts() const;
};

/// Where the runs of a sweep take place.
struct SweptWorld {
  std::vector<std::string> folders;  ///< That matter: absolute, without a slash at the end
  /// Those of them that are empty and private, and may be made smaller
  std::vector<std::string> to_fill = {};
  bool limits_processes = true;   ///< The kernel does not limit how many processes root has.
  std::uint64_t peak_memory = 0;  ///< Bytes of address space in a clean run; 0: unknown
};

/// The frequent calls that a sweep watches as well.
const std::vector<std::string>& calls_of_sweep();

SweepPlan plan_sweep(const std::vector<Point>& points, const SweptWorld& world);

/// Those of these faults of a plan, given by their numbers, that do what an earlier one does at
/// another point of the same site. The program treats both in the same way, probably.
std::set<std::size_t> repeats_in(const SweepPlan& plan, const std::vector<std::size_t>& cells);

/// Draws so many of these faults of a plan, given by their numbers. Each point has one of them
/// before any has two.
std::vector<std::size_t> draw_cells(const SweepPlan& plan,
                                    std::vector<std::size_t> cells,
                                    std::size_t count,
                                    std::uint64_t seed);

}  // namespace lastref::harness::warden
