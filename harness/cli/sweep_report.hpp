// sweep_report: the report on the results of a sweep.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/report/report.hpp"
#include "harness/report/sweep_results.hpp"

namespace lastref::harness {

/// The cells that show the same.
struct SweepGroup {
  std::string fingerprint;
  ShownFinding shown;              ///< Of the first cell
  std::vector<std::size_t> cells;  ///< The simplest fault first
};

/// Whether it is a thread that waits when no other can continue.
bool is_hang(const ShownFinding& shown);

/// The same text for findings that may have the same cause, in each checkout of a project. Which of
/// several equal threads or children it was differs from run to run. Where the threads of a hang
/// wait may differ, too: there it is the place of the fault that counts.
///
/// @param cell  Its fault; none: it was a run without faults.
std::string fingerprint_of(const SweptProgram& program,
                           const ShownFinding& shown,
                           std::optional<std::size_t> cell);

/// Without what runs without faults show, too.
std::vector<SweepGroup> groups_of(const SweptProgram& program);

/// Nothing: it was not repeated.
const Confirmation* confirmation_of(const SweptProgram& program, const SweepGroup& group);

/// The findings, the faults that were not injected or refused, and a case for the program.
///
/// @param wanted  How many cells should have an outcome; if fewer have one, it is incomplete.
Report report_of(const SweptProgram& program, std::size_t wanted);

}  // namespace lastref::harness
