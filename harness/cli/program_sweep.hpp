// program_sweep: `lastref run --sweep`, which tries one fault after the other at the points of a
// program that matter, each in a run of its own, on all cores.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <tl/expected.hpp>

#include <lastref/error.hpp>

#include "harness/cli/command_line.hpp"
#include "harness/cli/sweep_folder.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/report/report.hpp"
#include "harness/report/sweep_results.hpp"

namespace lastref::harness {

/// A sweep of one program. It prints its progress on standard error, and is interrupted by what an
/// Interruption has noticed.
class ProgramSweep {
 public:
  /// Runs the program without faults, and chooses the faults.
  ///
  /// @param name   of the program in the report; empty: its command
  /// @param known  fingerprints of findings that do not end the sweep as the first ones
  /// @param before an earlier sweep, with the time that each fault took; or an empty one
  ///
  /// Returns why there is no sweep, such as that the program is not clean without faults.
  static tl::expected<std::unique_ptr<ProgramSweep>, std::string> plan(
      const RunVerbOptions& options,
      const std::string& name,
      std::set<std::string> known,
      const RecordedSweep& before);

  ProgramSweep(const ProgramSweep&) = delete;
  ProgramSweep& operator=(const ProgramSweep&) = delete;
  virtual ~ProgramSweep() = default;

  /// The faults, and the outcomes so far.
  virtual SweptProgram& program() = 0;
  /// The faults that it would try
  virtual Report list() const = 0;
  /// Tries the faults that have no outcome, and records what it finds as the program with this
  /// number. Returns what could not be recorded.
  ///
  /// @param budget  Seconds at most; none: until all faults are tried
  virtual Result<Report> run(SweepFolder& folder,
                             std::size_t number,
                             std::optional<double> budget) = 0;

 protected:
  ProgramSweep() = default;
};

void sweep_program(const RunVerbOptions& options, Invocation& invocation);

}  // namespace lastref::harness
