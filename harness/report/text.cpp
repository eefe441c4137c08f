#include "harness/report/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lastref::harness {
namespace {

constexpr double pause_on_terminal = 0.1;  // seconds
constexpr double pause_in_log = 10;
constexpr std::size_t missed_shown = 10;

std::string text_of(std::size_t violations) {
  return violations == 0   ? "no violation"
         : violations == 1 ? "1 violation"
                           : fmt::format("{} violations", violations);
}

std::string text_of(const ViolationGroup& group) {
  std::string text;
  for (const Violation& violation : group.first) {
    text += to_text(violation) + "\n";
  }
  if (group.count > group.first.size()) {
    text += fmt::format("... and {} more violations of this claim in {}\n\n",
                        group.count - group.first.size(),
                        group.scenario);
  }
  return text;
}

std::string text_of_differences(const Report& report) {
  std::string text;
  for (const Difference& difference : report.differences) {
    text += fmt::format("NOT DETERMINISTIC {}\n  observed      {}\n  reproduce     {}\n\n",
                        difference.scenario,
                        difference.seen,
                        difference.replay);
  }
  return text;
}

std::string text_of_omissions(const Report& report) {
  std::string text;
  if (report.all_scenarios) {
    for (const std::string& point : report.never_reached) {
      text += fmt::format("NEVER REACHED {}\n", point);
    }
  }
  if (report.probe_demand != ProbeDemand::counted) {
    for (const ProbeReport* probe : never_seen(report)) {
      text += fmt::format("NEVER SEEN {}: {}\n", probe->name, probe->sentence);
    }
  }
  const std::size_t shown = std::min(report.missed.size(), missed_shown);
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format(
        "DID NOT STRIKE {} --fault '{}'\n", report.missed[i].scenario, report.missed[i].fault);
  }
  if (report.missed.size() > shown) {
    text += fmt::format("... and {} more that did not strike\n", report.missed.size() - shown);
  }
  return text.empty() ? text : text + "\n";
}

std::string row(std::string_view name, const Count& count) {
  return fmt::format("  {:<34}{:>9}{:>9}\n", name, count.total, count.executed);
}

std::string table_of(std::string_view name, const MatrixCount& matrix) {
  std::string text = fmt::format("  {:<34}{:>9}{:>9}\n", name, "total", "executed");
  for (const auto& [role, count] : matrix.by_role) {
    text += row("at " + role, count);
  }
  for (const auto& [kind, count] : matrix.by_fault) {
    text += row(kind, count);
  }
  return text + row("all", matrix.all);
}

std::string text_of_matrix(const Report& report) {
  const std::string allocations =
      report.allocation_sites == 0
          ? std::string()
          : fmt::format("; allocations have {} sites", report.allocation_sites);
  return table_of("faults", report.matrix) +
         fmt::format("  the site matrix of seed {} has {} faults, the full one {}{}\n\n",
                     report.seed,
                     report.site_matrix,
                     report.full_matrix,
                     allocations);
}

std::string table_of(const std::vector<ScenarioReport>& scenarios) {
  std::size_t width = 8;
  for (const ScenarioReport& scenario : scenarios) {
    width = std::max(width, scenario.name.size());
  }
  std::string text = fmt::format("  {:<{}}  {:>6} {:>8} {:>8} {:>8} {:>10} {:>8}\n",
                                 "scenario",
                                 width,
                                 "sites",
                                 "faults",
                                 "executed",
                                 "runs",
                                 "violations",
                                 "seconds");
  for (const ScenarioReport& each : scenarios) {
    text += fmt::format("  {:<{}}  {:>6} {:>8} {:>8} {:>8} {:>10} {:>8.1f}\n",
                        each.name,
                        width,
                        each.sites,
                        each.matrix.total,
                        each.matrix.executed,
                        each.runs,
                        each.violations,
                        each.seconds);
  }
  return text;
}

/// "  outside of the matrix: jobs/a: its size", a line for each.
std::string text_of_outsiders(const std::vector<ScenarioReport>& scenarios) {
  std::string text;
  for (const ScenarioReport& each : scenarios) {
    if (!each.outside_matrix.empty()) {
      text += fmt::format("  outside of the matrix: {}: {}\n", each.name, each.outside_matrix);
    }
  }
  return text;
}

std::string table_of_ambients(const Report& report) {
  const std::vector<AmbientReport>& ambients = report.ambients;
  if (ambients.empty()) {
    return {};
  }
  std::string text =
      fmt::format("  {:<16}{:>8}{:>9}{:>11}   each scenario clean, and with {} kills of seed {}\n",
                  "ambient",
                  "total",
                  "executed",
                  "violations",
                  report.kills_in_ambient,
                  report.seed);
  for (const AmbientReport& each : ambients) {
    text += fmt::format("  {:<16}{:>8}{:>9}{:>11}   {}\n",
                        each.name,
                        each.runs.total,
                        each.runs.executed,
                        each.violations,
                        each.sentence);
    if (!each.differs.empty()) {
      text += fmt::format("{:>49}{}\n", "", each.differs);
    }
  }
  return text + "\n";
}

/// "a call fails permanently 12, the whole tree was killed 3".
std::string reasons_of(const OracleReport& oracle) {
  std::string text;
  for (std::size_t at = 1; at < oracle.waived.size(); ++at) {
    if (oracle.waived[at] > 0) {
      text += fmt::format(
          "{}{} {}", text.empty() ? "" : ", ", name_of(static_cast<Waiver>(at)), oracle.waived[at]);
    }
  }
  return text;
}

std::string table_of(const std::vector<OracleReport>& oracles) {
  if (oracles.empty()) {
    return {};
  }
  std::string text = fmt::format(
      "  {:<26}{:>9}{:>9}{:>9}{:>9}   runs\n", "oracle", "judged", "looked", "filled", "waived");
  for (const OracleReport& each : oracles) {
    text += fmt::format("  {:<26}{:>9}{:>9}{:>9}{:>9}   {}\n",
                        each.name,
                        each.judged,
                        each.looked,
                        each.filled,
                        each.waived_in_all(),
                        reasons_of(each));
  }
  return text + "\n";
}

/// A line for each reason: "    12 (10 file, 2 semaphore): the scenario leaves them on purpose".
std::string text_of(const UnpromisedCount<std::uint64_t>& unpromised) {
  if (unpromised.total() == 0) {
    return {};
  }
  std::string text = fmt::format(
      "  {} more names remained that no process had promised to remove:\n", unpromised.total());
  for (std::size_t at = 0; at < names_of(WhyUnpromised()).size(); ++at) {
    const auto why = static_cast<WhyUnpromised>(at);
    if (unpromised.count(why) == 0) {
      continue;
    }
    std::string kinds;
    for (std::size_t of = 0; of < names_of(NameKind()).size(); ++of) {
      const auto kind = static_cast<NameKind>(of);
      if (const std::uint64_t count = unpromised.count(why, kind); count > 0) {
        kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, name_of(kind));
      }
    }
    text += fmt::format("    {} ({}): {}\n", unpromised.count(why), kinds, name_of(why));
  }
  return text;
}

std::string text_of_worlds(const Report& report) {
  std::string text;
  for (const WorldReport& world : report.worlds) {
    text += fmt::format("  world {}: {}\n",
                        world.name,
                        !world.available         ? "not available: " + world.degraded
                        : world.degraded.empty() ? "fully available"
                                                 : "DEGRADED: " + world.degraded);
  }
  return text;
}

std::string text_of_speed(const Report& report) {
  std::string text = fmt::format(
      "  {} runs ({} clean, {} matrix, {} second level, {} in ambients, {} random) in {:.1f} s, "
      "{:.0f} "
      "a second",
      report.runs,
      report.clean_runs,
      report.matrix_runs,
      report.second_level_runs,
      report.ambient_runs,
      report.random_runs,
      report.seconds,
      report.runs_per_second());
  if (report.bare_loop_per_second) {
    text += fmt::format("; a bare tree of four: {:.0f}", *report.bare_loop_per_second);
  }
  if (report.runs_to_compare > 0) {
    text +=
        fmt::format("\n  {} more clean runs show which results are possible with a benign fault",
                    report.runs_to_compare);
  }
  return text + "\n";
}

std::string text_of_probes(const Report& report) {
  const auto by_chance = std::ranges::count(report.probes, true, &ProbeReport::by_chance);
  return fmt::format(
      "  probes: {} of {} seen{}\n",
      report.probes.size() - never_seen(report).size(),
      report.probes.size(),
      by_chance > 0 ? fmt::format(", {} of them by random runs alone", by_chance) : std::string());
}

}  // namespace

std::string to_text(const Violation& violation) {
  std::string text = fmt::format("VIOLATION {}\n  claim         {}\n  observed      {}\n",
                                 violation.scenario,
                                 violation.claim,
                                 violation.seen);
  for (const std::string& line : violation.last_crossings) {
    text += fmt::format("  {}  {}\n",
                        &line == violation.last_crossings.data() ? "recent calls" : "            ",
                        line);
  }
  if (!violation.repeats) {
    text += "  NOTE          a second run of the same plan did not violate this claim\n";
  }
  return text + fmt::format("  reproduce     {}\n", violation.replay);
}

std::string to_text(const CampaignProgress& progress) {
  const double rate =
      progress.seconds > 0 ? static_cast<double>(progress.runs) / progress.seconds : 0;
  std::string count = std::to_string(progress.done);
  if (progress.total != 0) {
    count += fmt::format(" of {}", progress.total);
  }
  return fmt::format("{:<11} {:<16} {:>6.1f} s {:>6.0f} runs/s  {}",
                     name_of(progress.phase),
                     count,
                     progress.seconds,
                     rate,
                     text_of(progress.violations));
}

/// "  random pairs of faults: 12 of the matrix, both struck in 7; ..."; nothing if none was drawn.
std::string text_of_random_pairs(const Report& report) {
  const Count& matrix = report.random_pairs_of_matrix;
  const Count& second_level = report.random_pairs_of_second_level;
  if (matrix.total + second_level.total == 0) {
    return {};
  }
  return fmt::format(
      "  random pairs of faults: {} of the matrix, both struck in {}; {} of the second level, both "
      "struck in {}\n",
      matrix.total,
      matrix.executed,
      second_level.total,
      second_level.executed);
}

/// Nothing if no scenario has parameters.
std::string text_of_parameters(const Report& report) {
  const Count& values = report.drawn_values;
  if (values.total == 0) {
    return {};
  }
  return fmt::format("  parameters: {} of {} values other than the usual ones drawn, in {} runs\n",
                     values.executed,
                     values.total,
                     report.runs_with_drawn_values);
}

/// Empty if everything was tried.
std::string text_of_share(const Report& report) {
  if (report.share >= 1) {
    return {};
  }
  return fmt::format(
      "  drawn by seed {}: a share of {} of {} faults after a fault, in addition to known plans, "
      "and of "
      "the "
      "scenarios in each ambient; --share 1 tries all\n\n",
      report.seed,
      report.share,
      report.second_level_whole);
}

std::string to_text(const Report& report) {
  std::string text;
  for (const ViolationGroup& group : report.groups) {
    text += text_of(group);
  }
  text += text_of_differences(report);
  text += text_of_omissions(report);
  text += table_of(report.scenarios) + text_of_outsiders(report.scenarios) + "\n";
  text += text_of_matrix(report);
  text += table_of("faults after a fault", report.second_level) + "\n";
  text += table_of_ambients(report) + text_of_share(report);
  text += table_of(report.oracles);
  text += text_of_worlds(report);
  text += text_of_speed(report);
  text += text_of_random_pairs(report);
  text += text_of_parameters(report);
  text += fmt::format("  points: {} of {} reached; kills: {}; names left behind: {}; seed {}\n",
                      report.points_reached,
                      report.points_declared,
                      report.kills,
                      report.leftovers,
                      report.seed);
  text += text_of_probes(report);
  text += text_of(report.unpromised);
  if (report.resumed > 0) {
    text += fmt::format("  {} faults were executed by an earlier gate\n", report.resumed);
  }
  for (const std::string& note : report.notes) {
    text += fmt::format("  note: {}\n", note);
  }
  return text +
         fmt::format("{} (exit {})\n", verdict_of(report), static_cast<int>(exit_of(report)));
}

void ProgressLine::show(const CampaignProgress& progress) {
  const bool turns = progress.phase != phase_;
  if (progress.seconds < next_ && !turns) {
    return;
  }
  phase_ = progress.phase;
  next_ = progress.seconds + (terminal_ ? pause_on_terminal : pause_in_log);
  shown_ = true;
  write_(terminal_ ? "\r\x1b[K" + to_text(progress) : to_text(progress) + "\n");
}

void ProgressLine::end() {
  if (terminal_ && shown_) {
    write_("\r\x1b[K");
  }
  shown_ = false;
}

}  // namespace lastref::harness
