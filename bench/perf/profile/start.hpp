// start: starts a program that is examined while it runs.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <lastref/error.hpp>

namespace lastref::perf {

/// A child of this process.
class StartedProgram {
 public:
  explicit StartedProgram(int process) noexcept : id_(process) {}

  int id() const noexcept { return id_; }
  /// Its status, as waitpid(2) has it, if it has ended. If a signal interrupts this process, sends
  /// that signal to the program and its descendants, and throws Interrupted when the program has
  /// ended. A program that outlives the signal by `grace` is killed.
  std::optional<int> end();

 private:
  int id_;
  std::optional<std::chrono::steady_clock::time_point> killed_at_;  ///< Set after the first signal
};

/// Starts a child that executes the command, which is searched on PATH. The exit code is 127 if the
/// command cannot be executed. Its standard output goes to standard error. With a pipe, the child
/// waits until all other processes have closed the write end.
Result<StartedProgram> start_program(const std::vector<std::string>& command,
                                     const std::optional<std::array<int, 2>>& go = {});

}  // namespace lastref::perf
