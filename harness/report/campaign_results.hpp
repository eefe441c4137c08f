// CampaignResults: the results of a gate run, as plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/platform/named_enum.hpp"
#include "harness/report/counts.hpp"
#include "harness/report/report.hpp"
#include "harness/scenario/look.hpp"
#include "harness/scenario/permitted_leftovers.hpp"

namespace lastref::harness {

struct WorldReport {
  std::string name;
  bool available = false;
  std::string degraded;  ///< What is missing, and the consequences; empty if nothing is.
};

struct ScenarioReport {
  std::string name;
  std::string sentence;
  std::vector<std::string> rows;
  std::string outside_matrix = {};  ///< Why it is outside; empty if it is not.
  std::size_t sites = 0;            ///< of its clean run
  std::uint64_t plan = 0;           ///< A hash of the faults that all shards execute
  Count matrix = {};
  std::size_t runs = 0;
  std::size_t violations = 0;
  double seconds = 0;  ///< of the worlds
};

/// All scenarios of the matrix in one kind of process.
struct AmbientReport {
  std::string name;
  std::string sentence;
  std::string differs;         ///< Promises that differ there, and why; empty if none does.
  Count runs = {};             ///< Clean ones, and those with kills.
  std::size_t violations = 0;  ///< Runs that violated something.
};

/// The checks of one oracle, over all runs.
struct OracleReport {
  std::string name;
  std::size_t judged = 0;  ///< Runs that it judged and was not waived in,
  std::size_t looked = 0;  ///< those with something that could have been wrong,
  std::size_t filled = 0;  ///< and those where that was not empty or zero.
  /// Runs in which it was waived, by the reason.
  std::array<std::size_t, names_of(Waiver()).size()> waived = {};

  void add(const Look& look);
  void add(const OracleReport& other);
  std::size_t waived_in_all() const noexcept;
};

/// One row of the table of probes, over all runs.
struct ProbeReport {
  std::string name;
  std::string sentence;
  std::size_t runs = 0;       ///< that saw it
  std::string scenario = {};  ///< of the first of them; runs are numbered as they were planned
  std::string replay = {};    ///< and the one command that repeats it
  bool by_chance =
      false;  ///< The first was a random run: no clean run saw it, and no single fault.
  std::size_t first_run = 0;
  bool seen_earlier = false;  ///< By the gate that this one continues.

  bool is_seen() const noexcept { return runs > 0 || seen_earlier; }
};

/// The consequence of a probe that no run saw.
LASTREF_NAMED_ENUM(ProbeDemand,
                   (counted, "counted"),     ///< Nothing: most scenarios were left out.
                   (listed, "listed"),       ///< It is listed.
                   (required, "required"));  ///< Without it, a complete campaign is incomplete.

/// A planned fault that was never injected: its run did not reach its site.
struct Missed {
  std::string scenario;
  std::string fault;
};

/// What merging needs to know of the second level of a shard.
struct SecondLevelOfShard {
  MatrixCount known_plans;
  std::vector<std::string> aftermaths;  ///< That it follows from, as a progress file has them
  std::set<std::string> not_executed;   ///< Likewise, of the pairs that were planned
};

struct CampaignResults {
  std::vector<WorldReport> worlds;
  std::vector<ScenarioReport> scenarios;
  std::size_t runs = 0;
  std::size_t clean_runs = 0;
  std::size_t matrix_runs = 0;
  std::size_t second_level_runs = 0;
  std::size_t resumed = 0;  ///< Faults, and pairs, that an earlier gate had executed.
  std::size_t ambient_runs = 0;
  std::size_t random_runs = 0;  ///< Random orders, and pairs of faults.
  /// Those in which a parameter had a drawn value other than the usual one;
  std::size_t runs_with_drawn_values = 0;
  std::size_t values_to_draw = 0;           ///< such values of all scenarios,
  std::set<std::string> drawn_values = {};  ///< and the ones that were drawn.
  /// Further clean runs, which show the possible results of runs with benign faults.
  std::size_t runs_to_compare = 0;
  /// The pairs among the random runs that were drawn from the matrix, and those of which both
  /// faults were injected;
  Count random_pairs_of_matrix = {};
  Count random_pairs_of_second_level = {};  ///< and those drawn from the second level.
  std::size_t points_declared = 0;
  std::size_t points_reached = 0;
  std::vector<std::string> never_reached;  ///< Rows of the tables of calls and steps.
  std::vector<ProbeReport> probes;
  ProbeDemand probe_demand = ProbeDemand::counted;
  bool interrupted = false;            ///< You asked it to end.
  std::vector<std::string> left_out;   ///< What there was no time for, except faults.
  bool all_scenarios = true;           ///< Points can only be missed when everything ran.
  MatrixCount matrix;                  ///< What was planned: one of these two.
  std::size_t site_matrix = 0;         ///< Faults that represent all at their moments
  std::size_t full_matrix = 0;         ///< Faults of all scenarios
  std::size_t allocation_sites = 0;    ///< Call stacks, in a role, that end in an allocation
  double share = 1;                    ///< Drawn of the second level and of the ambients
  MatrixCount second_level;            ///< Faults that only runs with another fault reach, and
                                       ///< known plans
  std::size_t second_level_whole = 0;  ///< The number drawn from, without known plans
  SecondLevelOfShard second_level_of_shard = {};
  std::size_t kills_in_ambient = 0;  ///< Of each scenario in each ambient, if it has that many
  std::vector<AmbientReport> ambients;
  std::vector<OracleReport> oracles;
  std::vector<Missed> missed;
  std::vector<Difference> differences;
  std::uint64_t kills = 0;
  std::uint64_t leftovers = 0;  ///< Names that remain past the next start and must not.
  PermittedCount<std::uint64_t> permitted_leftovers =
      {};  ///< The same, where no process promised to
           ///< remove them.
  std::size_t violations = 0;
  std::vector<ViolationGroup> groups;
  double seconds = 0;
  std::optional<double> bare_loop_per_second;
  std::uint64_t seed = 0;
  std::vector<std::string> notes;  ///< Further notes for the reader.

  double runs_per_second() const { return seconds > 0 ? static_cast<double>(runs) / seconds : 0; }
};

/// Those that neither this campaign saw nor the one that it continues.
std::vector<const ProbeReport*> never_seen(const CampaignResults& results);

/// A violation that repeats decides; then anything that did not repeat; then work left undone.
Exit exit_of(const CampaignResults& results) noexcept;

/// One sentence on the reason for the exit code: "2 of 40 points were never reached".
std::string verdict_of(const CampaignResults& results);

/// Its tables for people, its counts for machines, and a case for each scenario.
Report report_of(const CampaignResults& results);

/// Adds the findings of another campaign, except of claims that the report has already; and one
/// line of its counts, which begins with `name`. The report then has the more serious exit code.
void add_to(Report& report, std::string_view name, const CampaignResults& results);

}  // namespace lastref::harness
