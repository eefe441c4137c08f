// program_sweep: `lastref run --sweep`, which tries one fault after the other at the points of a
// program that matter, each in a run of its own, on all cores.
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "harness/cli/command_line.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/report/report.hpp"

namespace lastref::harness {

/// Tells its progress on standard error. It is interrupted by what an Interruption has noticed.
///
/// @param name  of the program in the report; empty: its command
///
/// Returns why there is no sweep, such as that the program is not clean without faults.
tl::expected<Report, std::string> sweep_program(const RunVerbOptions& options, std::string name);

void sweep_program(const RunVerbOptions& options, Invocation& invocation);

}  // namespace lastref::harness
