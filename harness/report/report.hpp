// Report: the result of a verb as plain data: findings, how to repeat them, and what was covered.
// text, json, junit, sarif and report_page write it. Each verb makes one: gate of a campaign, run
// of a watched program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/report/sweep_map.hpp"

namespace lastref::harness {

/// Exit codes of every verb.
enum class Exit : std::uint8_t {
  clean = 0,
  violation = 1,
  unusable = 2,  ///< bad usage, or it cannot run here
  incomplete = 3,
  not_deterministic = 4,
  /// For `replay`, as `git bisect run` expects it: the plan no longer applies to this build.
  does_not_apply = 125,
};

/// One claim that did not hold in one run.
struct Violation {
  std::string scenario;
  std::string claim;
  std::string seen;
  std::string fingerprint = {};  ///< See fingerprint_of; empty: it is grouped by its claim only.
  std::size_t run = 0;           ///< Runs are numbered as they were planned.
  bool repeats = false;          ///< A second run of the same plan violated the same claim.
  std::string replay = {};       ///< The command that repeats it.
  std::size_t switches = 0;  ///< Switches and pauses of its schedule; 0: the usual one, or unknown
  /// The calls on the objects that were raced for, or else the last ones of each process
  std::vector<std::string> last_crossings = {};
  /// The processes that were killed at a time that no command repeats; empty: there are none.
  std::string killed = {};
  std::string standard_error = {};  ///< of the run, where it is shown
  std::string timeline = {};        ///< Of its switches, for people; empty: there are none
};

/// All violations of one claim in one scenario, and of one fingerprint if they have any: the first
/// few in full, the others counted.
struct ViolationGroup {
  std::string scenario;
  std::string claim;
  std::size_t count = 0;
  std::vector<Violation> first;
  /// "STAYED": each has one line after this word, and all have one command that repeats them.
  /// Empty: each has a paragraph.
  std::string label = {};
  std::string fingerprint = {};  ///< Empty: of any
  std::string note = {};         ///< What a suite says about it: "known: issue 12"
};

/// A plan with two different runs.
struct Difference {
  std::string scenario;
  std::string replay;
  std::string seen;
};

/// One test case of a CI system: a scenario, or a program.
struct ReportCase {
  std::string suite;
  std::string name;
  std::string scenario = {};  ///< It fails if there is a violation of this.
  std::string output = {};
  std::string error = {};  ///< Why there is no verdict on it; empty if there is one.
  double seconds = 0;
  std::size_t line = 0;  ///< Of the report's source; 0: unknown
};

/// The case of the scenario of that name: its suite is the part before the slash.
ReportCase case_of_scenario(const std::string& name);

struct Report {
  std::string verb = {};
  Exit exit = Exit::clean;
  std::string verdict = {};  ///< One sentence on the reason for the exit code
  std::string before = {};   ///< Lines for people before the findings
  std::vector<ViolationGroup> groups = {};
  std::vector<ViolationGroup> known = {};  ///< Findings that are no violations
  std::vector<SweepMap> maps = {};         ///< One for each swept program
  std::vector<Difference> differences = {};
  std::string after = {};   ///< Lines for people after the findings
  std::string repeat = {};  ///< The command that repeats all of it, if there is one
  std::vector<ReportCase> cases = {};
  double seconds = 0;
  std::string source = {};  ///< The file that describes what was run, if there is one
  /// The members that only this verb has.
  std::shared_ptr<const nlohmann::ordered_json> fields = {};
};

/// Distinguishes violations that may have different causes: 8 hexadecimal digits, which depend on
/// the scenario, the claim and the shape of the finding. That is its text without repetitions and
/// without words that have a digit, such as pids and numbered names.
std::string fingerprint_of(std::string_view scenario,
                           std::string_view claim,
                           std::string_view seen);

/// Adds it to the group of its scenario, claim and fingerprint, or a new one with this label.
void add(Report& report, Violation violation, std::string_view label = {});

}  // namespace lastref::harness
