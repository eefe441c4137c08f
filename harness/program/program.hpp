// Program: runs another program to its end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <lastref/error.hpp>

namespace lastref::harness {

/// Starts the program at `path`, looked for on PATH if it has no slash, as a child of the calling
/// thread, and waits for its end. Its exit code; nothing when it was killed.
Result<std::optional<int>> run_program(std::string path, std::vector<std::string> arguments);

/// A command of the shell, run in `folder`; all it says goes into the file `log`, which is begun
/// anew. After `seconds` it is killed, with its process group, and answers 124.
Result<std::optional<int>> run_command(const std::string& folder,
                                       const std::string& command,
                                       const std::string& log,
                                       int seconds);

}  // namespace lastref::harness
