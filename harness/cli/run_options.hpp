// run_options: the options of `lastref run`.
#pragma once

#include <CLI/CLI.hpp>

#include "harness/cli/command_line.hpp"

namespace lastref::harness {

/// Adds the verb; its values are stored in `options`.
CLI::App* add_run(CLI::App& app, RunVerbOptions& options);

}  // namespace lastref::harness
