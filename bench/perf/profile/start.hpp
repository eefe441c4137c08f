// start: a program that is looked at while it runs.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <lastref/error.hpp>

namespace lastref::perf {

/// A child that becomes the command, looked for on PATH; 127 is the exit code if that cannot be
/// run. What it says on standard output goes to standard error. With a pipe, it waits until nobody
/// else has the end to write to.
Result<int> start_program(const std::vector<std::string>& command,
                          const std::optional<std::array<int, 2>>& go = {});

}  // namespace lastref::perf
