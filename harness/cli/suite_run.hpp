// suite_run: `lastref run --suite`, which sweeps the programs of a suite.
#pragma once

#include "harness/cli/command_line.hpp"
#include "harness/cli/verbs.hpp"

namespace lastref::harness {

void run_suite(const RunVerbOptions& options, Invocation& invocation);

}  // namespace lastref::harness
