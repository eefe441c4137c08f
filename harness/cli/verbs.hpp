// Verbs: what the program can be told to do. One file each.
#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "harness/cli/worlds.hpp"
#include "harness/report/report.hpp"

namespace lastref::harness {

/// What main shares with every verb.
struct Session {
  Worlds worlds;
  int exit = 0;  ///< Set by the verb that ran.

  void end(Exit how) noexcept { exit = static_cast<int>(how); }
  /// Says on standard error why it cannot go on.
  void refuse(std::string_view why);
  /// Whether the worlds that were started can run; refuses if not.
  bool has_worlds();
};

// Each adds its verb and options; the verb runs when the command line names it.
void add_gate(CLI::App& app, Session& session);
void add_explore(CLI::App& app, Session& session);
void add_list(CLI::App& app, Session& session);
void add_replay(CLI::App& app, Session& session);
void add_sweep(CLI::App& app, Session& session);
void add_tracker(CLI::App& app, Session& session);
void add_mutants(CLI::App& app, Session& session);
void add_bench(CLI::App& app, Session& session);

/// Refuses what is no number above 0.
CLI::Validator above_zero();
/// Refuses what is no whole number from 0 on; the parser itself lets -1 pass for a very big one.
CLI::Validator whole_number();

}  // namespace lastref::harness
