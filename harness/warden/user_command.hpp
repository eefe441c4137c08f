// user_command: commands given by you that are run around a watched program.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lastref::harness::warden {

/// A command that failed, and its output.
struct CommandFailure {
  std::string option;  ///< "--check"
  std::string command;
  std::string how;     ///< "exit 3"
  std::string output;  ///< Printable lines; if there are many, the first and the last part
};

/// How a command ended.
struct CommandEnd {
  std::string how;     ///< "exit 3"; empty: successfully
  std::string output;  ///< As that of a CommandFailure
};

/// Runs the command in a shell, to its end, for at most 600 s, or until `interrupted_by` returns a
/// signal; then its process group is ended.
CommandEnd end_of_command(const std::string& command, const std::function<int()>& interrupted_by);

/// The files of a program's standard descriptors.
struct CommandFiles {
  std::string input;
  std::string output;  ///< For errors, too; it is overwritten.
};

/// Runs a program, without a shell, to its end, its time limit, or until `interrupted_by` returns a
/// signal; then its process group is ended. Absent: that happened, or it was killed.
std::optional<int> exit_code_of(std::vector<std::string> words,
                                const CommandFiles& files,
                                std::chrono::seconds time_limit,
                                const std::function<int()>& interrupted_by);

/// As end_of_command. Absent: there is no command, or it succeeded.
std::optional<CommandFailure> failure_of(const std::string& option,
                                         const std::string& command,
                                         const std::function<int()>& interrupted_by);

}  // namespace lastref::harness::warden
