// start: a program that is looked at while it runs.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <lastref/error.hpp>

namespace lastref::perf {

/// A child of ours.
class StartedProgram {
 public:
  explicit StartedProgram(int process) noexcept : id_(process) {}

  int id() const noexcept { return id_; }
  /// Its status, as waitpid(2) has it, if it has ended. Once somebody interrupts us, it is sent
  /// that signal, with all that descend from it, and this throws Interrupted when it has ended. A
  /// program that outlives the signal by `grace` is killed.
  std::optional<int> end();

 private:
  int id_;
  std::optional<std::chrono::steady_clock::time_point> killed_at_;  ///< Set once it has the signal
};

/// A child that becomes the command, looked for on PATH; 127 is the exit code if that cannot be
/// run. What it says on standard output goes to standard error. With a pipe, it waits until nobody
/// else has the end to write to.
Result<StartedProgram> start_program(const std::vector<std::string>& command,
                                     const std::optional<std::array<int, 2>>& go = {});

}  // namespace lastref::perf
