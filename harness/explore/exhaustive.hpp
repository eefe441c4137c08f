// Exhaustive: every schedule of one scenario in the simulated kernel, within a bound of
// preemptions; or all that differ from the usual one in one place, or those of policies.
//
// A schedule is a list of answers to "which thread runs next?". The search is depth first. It
// leaves out what the bound excludes, so "none found" means none within the bound (Musuvathi,
// Qadeer 2007). A run that comes to a known state is cut off: an earlier run has come there at no
// more cost, all orders from there were tried, and oracles judge only what the state consists of.
// Two runs with the same answers are
// identical, and this is checked: a run that asks other questions than the same answers led to
// before is a defect of the harness, and is counted.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/scenario/world.hpp"

namespace lastref::harness {

inline constexpr std::uint32_t no_bound = ~std::uint32_t{0};

struct ExhaustiveOptions {
  std::uint32_t preemptions = 2;   ///< maximum number of switches away from a thread that could
                                   ///< have continued; or no_bound
  std::uint32_t deviations = ~0U;  ///< maximum number of answers other than 0
  /// A signal (Stage::tell) that has to be given before the first question; empty is at once.
  std::string ask_after = {};
  std::uint64_t runs_max = ~std::uint64_t{0};  ///< including those that are cut off
  std::vector<Fault> faults = {};              ///< in every run
  ParameterValues parameters = {};             ///< likewise
  std::vector<std::uint32_t> prefix = {};      ///< fixed first answers, for a share of the whole
  bool stop_at_first = false;
  bool split_deaths = false;  ///< see SimOptions
  bool late_words = false;    ///< likewise; never late in an exhaustive search
  bool arena = true;
  /// Only for an exhaustive search: runs that come to a state to which another one has come are cut
  /// off; see sim::HappensBefore. Without bounds, only orders of conflicting steps are tried; see
  /// SourceSetChoices.
  bool reduces = true;
};

/// The number of runs with policies if neither that nor a time is given.
inline constexpr std::uint64_t explored_runs_usual = 1000;

/// One run with findings.
struct Counterexample {
  std::vector<std::uint32_t> choices;
  std::vector<Finding> findings;
};

struct Exhausted {
  std::uint64_t schedules = 0;  ///< runs to the end, each of which was judged
  std::uint64_t cut_off = 0;    ///< runs that ended where they could show nothing new
  /// Without bounds: switches that change the order of no conflicting steps, and were not tried
  std::uint64_t not_tried = 0;
  std::uint64_t planned = 0;  ///< Number of single deviations; 0: not known
  std::uint64_t steps = 0;
  std::uint64_t longest = 0;                    ///< questions in one run
  std::uint64_t violations = 0;                 ///< runs with findings
  std::vector<Counterexample> counterexamples;  ///< the first few of them
  bool complete = false;                        ///< There is no other schedule within the bounds.
  bool deterministic = true;
};

/// Called with the outcome of every run, which it may change before it is counted; returns false to
/// stop.
using Seen = std::function<bool(Outcome&)>;

Exhausted exhaust(const Scenario& scenario,
                  const ExhaustiveOptions& options,
                  const Seen& seen = {});

/// The usual schedule, and all with a single switch or pause. The options about questions are not
/// used.
Exhausted deviate(const Scenario& scenario,
                  const ExhaustiveOptions& options,
                  const Seen& seen = {});

/// The usual schedule, from which the policies know the steps, and `runs_max` random ones of the
/// policies in turn. The same seed gives the same schedules. It is never complete.
Exhausted sample(const Scenario& scenario,
                 const ExhaustiveOptions& options,
                 std::span<const PolicyName> policies,
                 std::uint64_t seed,
                 const Seen& seen = {});

}  // namespace lastref::harness
