// run_options: the options of `lastref run`.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "harness/cli/command_line.hpp"

namespace lastref::harness {

/// Adds the verb; its values are stored in `options`.
CLI::App* add_run(CLI::App& app, RunVerbOptions& options);

/// Whether a program of a suite may have this option of the verb. True, too, if there is none.
bool is_of_story(const CLI::App& run, const std::string& name);

}  // namespace lastref::harness
