// run_options: how `lastref run` is asked for.
#pragma once

#include <CLI/CLI.hpp>

#include "harness/cli/command_line.hpp"

namespace lastref::harness {

/// Adds the verb; what it is given goes to `options`.
CLI::App* add_run(CLI::App& app, RunVerbOptions& options);

}  // namespace lastref::harness
