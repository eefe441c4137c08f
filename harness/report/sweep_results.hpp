// SweepResults: which faults a sweep of a program has tried, and what each of them showed.
//
// A fault at a point is a cell. Cells are numbered from 0, in the order of the plan.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "harness/platform/named_enum.hpp"

namespace lastref::harness {

/// What does not hold in a run: its text has patterns instead of names that differ from run to run.
struct ShownFinding {
  std::string claim;
  std::string seen;

  bool operator==(const ShownFinding&) const = default;
};

LASTREF_NAMED_ENUM(CellResult,
                   (tried, "tried"),
                   (not_injected, "not injected"),
                   (refused, "refused"));  ///< There was no run.

struct CellOutcome {
  CellResult result = CellResult::tried;
  std::vector<ShownFinding> shown = {};  ///< Empty: no finding
  std::string command = {};              ///< That repeats the run; empty if there is no finding
  std::string at = {};   ///< What makes the call; empty: unknown, or there is no finding
  std::string why = {};  ///< It was refused.
  double seconds = 0;

  bool operator==(const CellOutcome&) const = default;
};

/// Runs that repeat a cell alone, and those of them that show the same finding; the first run of
/// the cell is one of them.
struct Confirmation {
  std::size_t cell = 0;
  ShownFinding shown = {};
  std::size_t runs = 1;
  std::size_t times = 1;

  bool operator==(const Confirmation&) const = default;
};

struct SweptProgram {
  std::string name;
  std::string folder = {};              ///< In which it runs, with a slash at the end
  std::vector<std::string> run = {};    ///< The words of a run without faults, from the verb on
  bool is_planned = true;               ///< Otherwise it is not clean without faults.
  std::size_t line = 0;                 ///< Of the file of its suite; 0: there is none
  std::vector<std::string> cells = {};  ///< The faults of all shards, as `lastref run` reads them
  std::map<std::size_t, CellOutcome> outcomes = {};  ///< Of the cells that were tried
  std::vector<Confirmation> confirmations = {};
  std::vector<ShownFinding> shown_without_faults = {};  ///< They are no findings.
};

}  // namespace lastref::harness
