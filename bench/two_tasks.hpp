// run_two_tasks: this program as one that starts a pool, runs two tasks and ends.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace lastref::bench {

/// Returns the exit code if the arguments of main are {program, "--two-tasks", pool}.
std::optional<int> run_two_tasks(std::span<const std::string> arguments);

}  // namespace lastref::bench
