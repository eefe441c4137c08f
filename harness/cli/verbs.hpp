// Verbs: the commands of the program. One file each.
#pragma once

#include <span>
#include <string_view>

#include "harness/cli/command_line.hpp"
#include "harness/cli/worlds.hpp"
#include "harness/report/report.hpp"

namespace lastref::harness {

/// What main shares with every verb.
struct Invocation {
  Worlds worlds;
  std::span<const char* const> arguments;  ///< of the command line, the program's own first
  bool annotates = false;                  ///< In a job of GitHub Actions
  int exit = 0;                            ///< Set by the verb that ran.

  void end(Exit how) noexcept { exit = static_cast<int>(how); }
  /// Reports on standard error why the verb cannot continue.
  void refuse(std::string_view why);
  /// Whether the worlds that were started can run; refuses if not.
  bool has_worlds();
  /// Whether there is a /proc; refuses if not.
  bool has_proc();
};

void run(const BenchOptions& options, Invocation& invocation);
void run(const ExploreOptions& options, Invocation& invocation);
void run(const GateOptions& options, Invocation& invocation);
void run(const HuntVerbOptions& options, Invocation& invocation);
void run(const ListOptions& options, Invocation& invocation);
void run(const MergeOptions& options, Invocation& invocation);
void run(const MutantsOptions& options, Invocation& invocation);
void run(const PerfOptions& options, Invocation& invocation);
void run(const ReplayOptions& options, Invocation& invocation);
void run(const RunVerbOptions& options, Invocation& invocation);
void run(const StressVerbOptions& options, Invocation& invocation);
void run(const SweepOptions& options, Invocation& invocation);
void run(const TrackerOptions& options, Invocation& invocation);

}  // namespace lastref::harness
