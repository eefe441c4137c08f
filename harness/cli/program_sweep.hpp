// program_sweep: `lastref run --sweep`, which tries one fault after the other at the points of a
// program that matter, each in a run of its own, on all cores.
#pragma once

#include "harness/cli/command_line.hpp"
#include "harness/cli/verbs.hpp"

namespace lastref::harness {

void sweep_program(const RunVerbOptions& options, Invocation& invocation);

}  // namespace lastref::harness
