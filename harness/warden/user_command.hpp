// user_command: commands of the user's that are run around a watched program.
#pragma once

#include <optional>
#include <string>

namespace lastref::harness::warden {

/// A command that has something to say: that it failed, and what it printed.
struct CommandFailure {
  std::string option;  ///< "--check"
  std::string command;
  std::string how;  ///< "exit 3"
  std::string output;
};

/// Runs it in a shell, to its end or for 600 s. Nothing: there is none, or it went well.
std::optional<CommandFailure> failure_of(const std::string& option, const std::string& command);

}  // namespace lastref::harness::warden
