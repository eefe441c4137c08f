// Verbs: what the program does when it is told to. One file each.
#pragma once

#include <span>
#include <string_view>

#include "harness/cli/command_line.hpp"
#include "harness/cli/worlds.hpp"
#include "harness/report/report.hpp"

namespace lastref::harness {

/// What main shares with every verb.
struct Session {
  Worlds worlds;
  std::span<const char* const> words;  ///< of the command line, the program's own first
  int exit = 0;                        ///< Set by the verb that ran.

  void end(Exit how) noexcept { exit = static_cast<int>(how); }
  /// Says on standard error why it cannot go on.
  void refuse(std::string_view why);
  /// Whether the worlds that were started can run; refuses if not.
  bool has_worlds();
};

void run(const BenchOptions& options, Session& session);
void run(const ExploreOptions& options, Session& session);
void run(const GateOptions& options, Session& session);
void run(const ListOptions& options, Session& session);
void run(const MutantsOptions& options, Session& session);
void run(const ReplayOptions& options, Session& session);
void run(const SweepOptions& options, Session& session);
void run(const TrackerOptions& options, Session& session);

}  // namespace lastref::harness
