// Program: runs another program to its end.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <lastref/error.hpp>

namespace lastref::harness {

/// Starts the program at `path`, searched on PATH if it has no slash, as a child of the calling
/// thread, and waits for its end. While it waits it calls `each_second`, if that is given. Returns
/// the exit code; nothing if the program was killed.
Result<std::optional<int>> run_program(const std::string& path,
                                       std::vector<std::string> arguments,
                                       const std::function<void()>& each_second = {});

/// Becomes the program at `path`. Returns only if that fails, with the error.
Error become_program(const std::string& path, std::vector<std::string> arguments);

/// Runs a shell command in `folder`; all its output goes into the file `log`, which is overwritten.
/// After `seconds` it is killed, with its process group, and the result is 124.
Result<std::optional<int>> run_command(const std::string& folder,
                                       const std::string& command,
                                       const std::string& log,
                                       int seconds,
                                       const std::function<void()>& each_second = {});

}  // namespace lastref::harness
