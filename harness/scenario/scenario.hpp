// Scenario: who runs what. Written once, run in every world.
//
// A scenario has roles. The world starts the role "root"; roles start each other through their
// Stage. The tracker is a role too: it is started by the product through Os::spawn, as the entry
// "tracker". What else the product starts is a role of the scenario: Os::spawn of "worker" is
// "worker_1" if the last argument is "1" and there is such a role, else "worker"; its first
// argument is the tree to join, and what it was passed is open under its numbers. A role's body is
// told nothing about faults: it does its work, checks what it was promised, and returns when a call
// fails.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/scenario/stage.hpp"

namespace lastref::harness {

/// Its error is why the role ended early. With nothing wrong that is a violation: what a body means
/// to fail it looks at.
using Body = std::function<Status(Stage&)>;

struct Role {
  std::string name;
  Body body;
};

/// The body of that role, as its process runs it. An error that it asks a value of ends it.
Status run_body(const Role& role, Stage& stage);

struct Scenario {
  std::string name = {};          ///< "<family>/<sentence_in_snake_case>"
  std::string sentence;           ///< What must hold, for people.
  std::vector<std::string> rows;  ///< SPEC rows that it shows: "T9"
  std::vector<Role> roles;        ///< "root" is among them.
  /// What a run without faults says on standard error: each of these is in some line, and each line
  /// has one of these.
  std::vector<std::string> expected_noise = {};
  /// What it may say besides, depending on who is faster.
  std::vector<std::string> possible_noise = {};
  /// Operations that fail in a run without faults, because that is what it is about.
  std::vector<std::string> failing_operations = {};
  bool kernel_only = false;  ///< Needs what a simulation has not: a real fork, address spaces.
  /// Why its clean run is not enumerated and failed site by site; empty: it is.
  std::string outside_matrix = {};
  bool in_gate = true;  ///< The canary is not.
  /// Its caches meet limits and full disks: a put may be refused at any time.
  bool caches_refuse = false;
  /// Its tracker keeps no ledger (loky mode): what it could not remove, or had when it was killed,
  /// stays.
  bool no_ledger = false;
  /// An outsider writes into a ledger: what it has lost by that is not the tracker's.
  bool spoils_ledger = false;
  /// A tree of it dies whole: what that leaves may stay until the next start.
  bool leaves_to_the_next_start = false;
  /// Resources that the scenario leaves behind on purpose (it forgot them), as to_text gives them.
  std::vector<std::string> stays = {};
  /// umask of the run's processes, and the like, stay the world's business.

  bool in_matrix() const noexcept { return outside_matrix.empty(); }
};

/// A role that every scenario has: the next start, which sweeps up what a run has left. A world
/// starts it when all others are dead.
inline constexpr const char* next_start_role = "next_start";

/// Nothing if the scenario has no such role.
const Role* role_named(const Scenario& scenario, std::string_view name) noexcept;
/// The role of a process that the product starts as an entry which is none of its own: "worker_1"
/// for worker with {tree, "1"} where there is that role, else "worker"; nothing if that is none
/// either.
const Role* role_started_as(const Scenario& scenario,
                            const std::string& entry,
                            std::span<const std::string> arguments);

/// Every scenario linked into the program, in the order of their names.
const std::vector<Scenario>& catalog();
/// One of the catalog; nothing if it has no such scenario.
const Scenario* scenario_named(std::string_view name);

}  // namespace lastref::harness
