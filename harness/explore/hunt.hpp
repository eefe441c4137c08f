// Hunt: searches the schedules of scenarios in the simulated kernel for violations.
//
// It takes the scenarios in turn. Of each it makes two searches. One tries all single deviations
// from the usual order, which are few and show every race that one preemption shows, and the pauses
// of an actor until another one is about to take a conflicting step. The other draws runs: a
// schedule policy, values of parameters, and in half of the runs a fault or two of the matrix, more
// often at moments that few scenarios have. A search, and a policy, has more runs if its runs have
// had orders of conflicting steps that no run had before.
//
// Run `number` of a seed is always of the same scenario. Whether it is a deviation, and which
// policy it has, depends on the runs before it. Drawn run `n` of a scenario always has the same
// parameters, and the same faults once the clean runs of all scenarios are over. Of a scenario with
// a text, such as a history, each drawn text has two runs: one without faults, and one with faults
// at calls that the first one has made, if that is over. Each violation is reported with the
// answers that repeat it. Violations with the same fingerprint are reported once, and at most a few
// of one claim.
//
// A hunt can be continued from its state: see hunt_state.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/choice/schedule_policy.hpp"
#include "harness/report/counts.hpp"
#include "harness/report/progress.hpp"
#include "harness/report/report.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// The number of runs of each scenario in the hunt of a gate,
inline constexpr std::uint64_t hunt_runs_usual = 200;
/// and in one of some scenarios, or of everything.
inline constexpr std::uint64_t hunt_runs_in_full = 600;
/// Seconds between two calls of HuntOptions::save.
inline constexpr double seconds_between_saves = 10;

struct HuntState;

struct HuntOptions {
  std::vector<const Scenario*> scenarios = {};
  std::vector<PolicyName> policies = all_policies();
  ParameterValues parameters = {};  ///< in all runs
  bool draws_parameters = true;
  bool has_faults = true;
  std::uint64_t seed = 1;
  std::optional<double> budget = {};  ///< seconds, without those of a hunt that is continued
  /// With those of a hunt that is continued. Without either it ends when it is interrupted.
  std::optional<std::uint64_t> runs_max = {};
  bool stop_at_first = false;  ///< Also if a hunt that is continued has found violations.
  std::uint64_t build = 0;     ///< Distinguishes builds of the program, for the state.
  /// The hunt to continue. It has the options of this one.
  const HuntState* from = nullptr;
  /// Called regularly, and at the end.
  std::function<void(const HuntState&)> save = {};
  std::function<bool()> is_interrupted = [] { return false; };
  std::function<void(const CampaignProgress&)> progress = [](const CampaignProgress&) {};
  std::function<double()> clock = {};  ///< seconds; for tests
};

struct HuntedScenario {
  std::string name;
  std::uint64_t runs = 0;
  Count deviations = {};       ///< See deviations.hpp
  std::size_t orders = 0;      ///< Different orders of conflicting steps
  std::size_t violations = 0;  ///< Runs
  double seconds = 0;
};

struct HuntedPolicy {
  PolicyName name = {};
  std::uint64_t runs = 0;
  std::size_t new_orders = 0;  ///< Orders of conflicting steps that no run had before
  std::size_t found = 0;       ///< Violations that no run had had before
};

/// The state of a hunt after a number of runs.
struct HuntMoment {
  std::uint64_t runs = 0;
  double seconds = 0;
  std::size_t orders = 0;
};

struct HuntResults {
  std::vector<HuntedScenario> scenarios;
  std::vector<HuntedPolicy> policies;
  std::vector<Violation> violations;  ///< One for each fingerprint
  std::vector<HuntMoment> curve;      ///< After each doubling of the number of runs, and at the end
  std::uint64_t runs = 0;
  std::size_t runs_with_findings = 0;
  double seconds = 0;
  bool interrupted = false;
};

HuntResults hunt(std::span<World* const> worlds, const HuntOptions& options);

/// The violations, a line for each scenario and policy, and the totals. Each scenario is a case.
Report report_of(const HuntResults& results);
/// Adds them to the report of a gate that was preceded by the hunt.
void add_to(Report& report, const HuntResults& results);

}  // namespace lastref::harness
