// Scenario: its roles, and what each of them does. Written once, run in every world.
//
// A scenario has roles. The world starts the role "root"; roles start each other through their
// Stage. The tracker is a role too: the product starts it through Os::spawn, as the entry
// "tracker". Any other process that the product starts is in a role of the scenario. Os::spawn of
// "worker" is "worker_1" if the last argument is "1" and that role exists, else "worker". Its first
// argument is the tree to join, and the descriptors passed to it are open under their numbers. The
// body of a role knows nothing about faults: it does its work, checks the promises, and returns
// when a call fails.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/scenario/stage.hpp"

namespace lastref::harness {

/// Returns the error that ended the role early. In an undisturbed run that is a violation: a body
/// checks expected failures itself.
using Body = std::function<Status(Stage&)>;

struct Role {
  std::string name;
  Body body;
};

/// Runs the body of that role in its process. Asking for the value of a failed Result ends the role
/// with that error.
Status run_body(const Role& role, Stage& stage);

struct Scenario {
  std::string name = {};          ///< "<family>/<sentence_in_snake_case>"
  std::string sentence;           ///< What must hold, in reports.
  std::vector<std::string> rows;  ///< SPEC rows that it covers: "T9"
  std::vector<Role> roles;        ///< Includes "root".
  /// What a run of it may vary: see parameter.hpp. The bodies read each of them.
  std::vector<DeclaredParameter> parameters = {};
  /// Messages of a fault-free run on standard error: each of these is part of some line, and each
  /// line contains one of these.
  std::vector<std::string> expected_noise = {};
  /// Further messages that it may write, depending on timing.
  std::vector<std::string> possible_noise = {};
  /// Operations that fail in a fault-free run because the scenario tests that.
  std::vector<std::string> failing_operations = {};
  bool kernel_only = false;  ///< Needs what the simulation lacks: a real fork, address spaces.
  /// Why the matrix does not enumerate its clean run and fault each site; empty: it does.
  std::string outside_matrix = {};
  /// Its runs take many times as long as others: a hunt that is not for it leaves it out.
  bool is_long = false;
  bool in_gate = true;  ///< False for the canary.
  /// Its caches meet limits and full disks: a put may be refused at any time.
  bool caches_refuse = false;
  /// Its tracker keeps no ledger (loky mode): names that the tracker could not remove, or had when
  /// it was killed, remain.
  bool no_ledger = false;
  /// An outsider writes into a ledger: the tracker is not responsible for what is lost by that.
  bool spoils_ledger = false;
  /// A whole tree of it dies: its leftovers may remain until the next start.
  bool leaves_to_the_next_start = false;
  /// Resources that the scenario leaves on purpose (it forgot them), as to_text formats them.
  std::vector<std::string> stays = {};
  /// Names that are forgotten remain, and objects that are made without a reference.
  bool forgotten_stay = false;
  /// Whether the matrix enumerates it. (The umask of the processes and the like are up to the
  /// world.)
  bool in_matrix() const noexcept { return outside_matrix.empty(); }
};

/// A role that every scenario has: the next start, which sweeps the leftovers of a run. The world
/// starts it when all other processes are dead.
inline constexpr const char* next_start_role = "next_start";

/// Null if the scenario has no such role.
const Role* role_named(const Scenario& scenario, std::string_view name) noexcept;
/// The role of a process that the product starts under an entry of the scenario: "worker_1" for
/// worker with {tree, "1"} where that role exists, else "worker"; null if that does not exist
/// either.
const Role* role_started_as(const Scenario& scenario,
                            const std::string& entry,
                            std::span<const std::string> arguments);

/// Every scenario linked into the program, in the order of their names.
const std::vector<Scenario>& catalog();
/// The scenario of that name; null if the catalog has none.
const Scenario* scenario_named(std::string_view name);

}  // namespace lastref::harness
