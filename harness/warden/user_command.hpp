// user_command: commands of the user's that are run around a watched program.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace lastref::harness::warden {

/// A command that has something to say: that it failed, and what it printed.
struct CommandFailure {
  std::string option;  ///< "--check"
  std::string command;
  std::string how;     ///< "exit 3"
  std::string output;  ///< Text on lines; of much of it, the first and the last
};

/// Runs it in a shell, to its end, for 600 s, or until `interrupted_by` gives a signal; then its
/// process group ends. Nothing: there is none, or it went well.
std::optional<CommandFailure> failure_of(const std::string& option,
                                         const std::string& command,
                                         const std::function<int()>& interrupted_by);

}  // namespace lastref::harness::warden
