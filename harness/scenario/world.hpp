// World: runs one scenario once, under a plan, and says what the oracles saw.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/scenario/fault.hpp"
#include "harness/scenario/finding.hpp"
#include "harness/scenario/look.hpp"
#include "harness/scenario/points.hpp"
#include "harness/scenario/probes.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/scenario/unpromised.hpp"

namespace lastref::harness {

/// Everything that decides a run. The same plan gives the same run.
struct Plan {
  std::vector<Fault> faults;
  /// Answers to "who goes on?" and "is the time over that you would wait for?", in order; after the
  /// last, the process that runs goes on until it has to wait, and then the next in line follows,
  /// and no time is over early. Empty is the clean order.
  std::vector<std::uint32_t> choices;
  /// With a seed, questions past the end of `choices` are answered by chance.
  std::optional<std::uint64_t> seed;
  bool wants_crossings = false;  ///< Fill Outcome::crossings.
  /// Fill Outcome::crossings with those that begin when the first fault has struck. Only those that
  /// have callers.
  bool wants_aftermath = false;
  std::string ambient = {};  ///< In which processes it runs; empty: the usual ones.
  /// Fill Outcome::results, whatever struck.
  bool wants_results = false;
  bool wants_allocations = false;  ///< Fill Outcome::allocations.
};

/// One call or step as it was crossed.
struct Crossing {
  Site site;
  int error = 0;  ///< errno it came back with, 0 for success, -1 if it never came back
  bool injected = false;
  bool waited = false;      ///< It had to wait for another process at least once.
  bool has_limit = false;   ///< It waits no longer than for some time.
  bool may_be_cut = false;  ///< It writes what death can cut: see fault.
  /// Where the program made it, in clean runs: see instrument/callers. 0 is unknown.
  std::uint32_t callers = 0;

  bool operator==(const Crossing&) const = default;
};

/// "root/open(lock)#1 = ENOENT (injected) (waited)", for people; 0 is success.
std::string to_text(const Crossing& crossing);

/// What a run came to, as far as its users can tell: the answer of every word, and the files that
/// are left; told without pids and chance, so that runs can be compared. For example, the word
/// "worker_1 put cache 0 17#1" comes to "true", and "left files/kept" to a hash.
using RunResults = std::map<std::string, std::string, std::less<>>;

struct Outcome {
  std::vector<Finding> findings;
  std::vector<Look> looks;  ///< Of each oracle, in the order of oracle_names().
  std::vector<Crossing> crossings;
  /// Of each process the first allocation of each chain of callers. With wants_aftermath, of each
  /// process that began when the first fault had struck.
  std::vector<Crossing> allocations;
  std::vector<std::string>
      last_crossings;                  ///< With findings: the last few of each process, as text.
  std::vector<std::uint32_t> choices;  ///< What was answered, and
  std::vector<std::uint32_t> options;  ///< out of how many.
  std::string standard_error;          ///< What the processes of the run said.
  PointSet reached;                    ///< whether or not crossings were wanted
  ProbeSet probes;                     ///< So are they.
  std::uint32_t kills = 0;
  std::uint32_t faults_fired = 0;  ///< Planned faults whose site was reached.
  std::uint32_t leftovers = 0;     ///< Names that are there past the next start and must not be.
  UnpromisedCount<std::uint32_t> unpromised =
      {};  ///< The same, but nobody promised to remove them.
  /// Filled where clean runs have to come to the same: see ComparedWorld.
  std::optional<RunResults> results;
};

/// What the folder of a world is called that has to share /dev/shm with others; chance follows.
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
