// World: runs one scenario once, under a plan, and returns what the oracles found.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/choice/schedule_policy.hpp"
#include "harness/choice/switches.hpp"
#include "harness/scenario/fault.hpp"
#include "harness/scenario/finding.hpp"
#include "harness/scenario/look.hpp"
#include "harness/scenario/permitted_leftovers.hpp"
#include "harness/scenario/points.hpp"
#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

struct RunLog;

/// Everything that determines a run. The same plan gives the same run.
struct Plan {
  std::vector<Fault> faults;
  /// Answers to "which thread runs next?" and "has the time limit of this wait passed?", in order.
  /// After the last one, the running process continues until it has to wait, then the next in line
  /// follows, and no time limit ends early. Empty is the clean order.
  std::vector<std::uint32_t> choices;
  /// With a seed, questions past the end of `choices` are answered at random.
  std::optional<std::uint64_t> seed;
  /// With a seed and no `choices`, it chooses the actors; `estimate`, of an earlier run, helps it.
  /// A run without gates has no choices.
  PolicyName policy = PolicyName::sticky;
  std::shared_ptr<const RunEstimate> estimate = nullptr;
  /// Instead of `choices` and `seed`: the unusual answers.
  Switches switches = {};
  bool wants_crossings = false;  ///< Fill Outcome::crossings.
  /// Fill Outcome::crossings with those that begin after the first fault was injected. Only those
  /// that have callers.
  bool wants_aftermath = false;
  std::string ambient = {};  ///< The ambient that it runs in; empty: the usual one.
  /// Fill Outcome::results, even if faults were injected.
  bool wants_results = false;
  bool wants_allocations = false;  ///< Fill Outcome::allocations.
  bool wants_estimate = false;     ///< Fill estimate and, in the simulated kernel, conflicts.
  bool wants_turns = false;        ///< Fill Outcome::turns, in the simulated kernel.
  bool wants_log = false;          ///< Fill Outcome::log.
  /// Of the scenario's parameters, those that have another value than usual.
  ParameterValues parameters = {};
};

/// One call or step as it was crossed.
struct Crossing {
  Site site;
  int error = 0;  ///< errno that it returned, 0 for success, -1 if it never returned
  bool injected = false;
  bool waited = false;      ///< It had to wait for another process at least once.
  bool has_limit = false;   ///< It has a time limit.
  bool may_be_cut = false;  ///< It writes bytes that a death can cut: see fault.
  /// The call stack that made it, in clean runs: see instrument/callers. 0 is unknown.
  std::uint32_t callers = 0;

  bool operator==(const Crossing&) const = default;
};

/// "root/open(lock)#1 = ENOENT (injected) (waited)", for reports; 0 is success.
std::string to_text(const Crossing& crossing);

/// The result of a run as its users see it: the answer of every operation, and the remaining files,
/// without pids and random parts, so that runs can be compared. For example, the operation
/// "worker_1 put cache 0 17#1" maps to "true", and "left files/kept" to a hash.
using RunResults = std::map<std::string, std::string, std::less<>>;

struct Outcome {
  std::vector<Finding> findings;
  std::vector<Look> looks;  ///< Of each oracle, in the order of oracle_names().
  std::vector<Crossing> crossings;
  /// The first allocation of each call stack in each process. With wants_aftermath, only of
  /// processes that began after the first fault was injected.
  std::vector<Crossing> allocations;
  std::vector<std::string>
      last_crossings;                  ///< With findings: the last few of each process, as text.
  std::vector<std::uint32_t> choices;  ///< The answers given, and
  std::vector<std::uint32_t> options;  ///< the number of options of each.
  Switches switches;                   ///< The unusual answers; in the kernel world not of a list.
  std::string standard_error;          ///< The messages of the run's processes.
  PointSet reached;                    ///< filled whether or not crossings were wanted
  ProbeSet probes;                     ///< Likewise.
  std::uint32_t kills = 0;
  std::uint32_t faults_fired = 0;  ///< Planned faults whose site was reached.
  std::uint32_t leftovers = 0;     ///< Names that remain past the next start and must not.
  PermittedCount<std::uint32_t> permitted_leftovers =
      {};  ///< The same, but no process promised to remove them.
  /// Filled where clean runs must have equal results: see ComparedWorld.
  std::optional<RunResults> results;
  std::shared_ptr<const RunEstimate> estimate;
  /// With an estimate, in the simulated kernel: hashes of the orders of conflicting steps. Sorted.
  std::vector<std::uint64_t> conflicts;
  std::vector<Turn> turns;      ///< In order
  std::shared_ptr<RunLog> log;  ///< If it was wanted.
  /// The choices have cut it off (Choices::is_redundant): there is nothing else in it but answers.
  bool is_cut_off = false;
};

/// Prefix of the folder of a world that shares /dev/shm with others; a random part follows.
inline constexpr std::string_view folder_of_shared_world = "lastref-world-";

class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;

  virtual const char* name() const noexcept = 0;  ///< "kernel", "sim"
  virtual Outcome run(const Scenario& scenario, const Plan& plan) = 0;
};

}  // namespace lastref::harness
