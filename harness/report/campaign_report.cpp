#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/platform/names.hpp"
#include "harness/report/campaign_results.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t missed_shown = 10;

std::string text_of_omissions(const CampaignResults& results) {
  std::string text;
  if (results.all_scenarios) {
    for (const std::string& point : results.never_reached) {
      text += fmt::format("NEVER REACHED {}\n", point);
    }
  }
  if (results.probe_demand != ProbeDemand::counted) {
    for (const ProbeReport* probe : never_seen(results)) {
      text += fmt::format("NEVER SEEN {}: {}\n", probe->name, probe->sentence);
    }
  }
  const std::size_t shown = std::min(results.missed.size(), missed_shown);
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format(
        "NOT INJECTED {} --fault '{}'\n", results.missed[i].scenario, results.missed[i].fault);
  }
  if (results.missed.size() > shown) {
    text += fmt::format("... and {} more that were not injected\n", results.missed.size() - shown);
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

std::string text_of_matrix(const CampaignResults& results) {
  const std::string allocations =
      results.allocation_sites == 0
          ? std::string()
          : fmt::format("; allocations have {} sites", results.allocation_sites);
  return table_of("faults", results.matrix) +
         fmt::format("  the site matrix of seed {} has {} faults, the full one {}{}\n\n",
                     results.seed,
                     results.site_matrix,
                     results.full_matrix,
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

std::string table_of_ambients(const CampaignResults& results) {
  const std::vector<AmbientReport>& ambients = results.ambients;
  if (ambients.empty()) {
    return {};
  }
  std::string text =
      fmt::format("  {:<16}{:>8}{:>9}{:>11}   each scenario clean, and with {} kills of seed {}\n",
                  "ambient",
                  "total",
                  "executed",
                  "violations",
                  results.kills_in_ambient,
                  results.seed);
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
std::string text_of(const PermittedCount<std::uint64_t>& permitted) {
  if (permitted.total() == 0) {
    return {};
  }
  std::string text = fmt::format(
      "  {} more names remained that no process had promised to remove:\n", permitted.total());
  for (std::size_t at = 0; at < names_of(WhyPermitted()).size(); ++at) {
    const auto why = static_cast<WhyPermitted>(at);
    if (permitted.count(why) == 0) {
      continue;
    }
    std::string kinds;
    for (std::size_t of = 0; of < names_of(NameKind()).size(); ++of) {
      const auto kind = static_cast<NameKind>(of);
      if (const std::uint64_t count = permitted.count(why, kind); count > 0) {
        kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, name_of(kind));
      }
    }
    text += fmt::format("    {} ({}): {}\n", permitted.count(why), kinds, name_of(why));
  }
  return text;
}

std::string text_of_worlds(const CampaignResults& results) {
  std::string text;
  for (const WorldReport& world : results.worlds) {
    text += fmt::format("  world {}: {}\n",
                        world.name,
                        !world.available         ? "not available: " + world.degraded
                        : world.degraded.empty() ? "fully available"
                                                 : "DEGRADED: " + world.degraded);
  }
  return text;
}

std::string text_of_speed(const CampaignResults& results) {
  std::string text = fmt::format(
      "  {} runs ({} clean, {} matrix, {} second level, {} in ambients, {} random) in {:.1f} s, "
      "{:.0f} "
      "a second",
      results.runs,
      results.clean_runs,
      results.matrix_runs,
      results.second_level_runs,
      results.ambient_runs,
      results.random_runs,
      results.seconds,
      results.runs_per_second());
  if (results.bare_loop_per_second) {
    text += fmt::format("; a bare tree of four: {:.0f}", *results.bare_loop_per_second);
  }
  if (results.runs_to_compare > 0) {
    text +=
        fmt::format("\n  {} more clean runs show which results are possible with a benign fault",
                    results.runs_to_compare);
  }
  return text + "\n";
}

std::string text_of_probes(const CampaignResults& results) {
  const auto by_chance = std::ranges::count(results.probes, true, &ProbeReport::by_chance);
  return fmt::format(
      "  probes: {} of {} seen{}\n",
      results.probes.size() - never_seen(results).size(),
      results.probes.size(),
      by_chance > 0 ? fmt::format(", {} of them by random runs alone", by_chance) : std::string());
}

/// "  random pairs of faults: 12 of the matrix, both injected in 7; ..."; empty if none was drawn.
std::string text_of_random_pairs(const CampaignResults& results) {
  const Count& matrix = results.random_pairs_of_matrix;
  const Count& second_level = results.random_pairs_of_second_level;
  if (matrix.total + second_level.total == 0) {
    return {};
  }
  return fmt::format(
      "  random pairs of faults: {} of the matrix, both injected in {}; {} of the second level, "
      "both injected in {}\n",
      matrix.total,
      matrix.executed,
      second_level.total,
      second_level.executed);
}

/// Nothing if no scenario has parameters.
std::string text_of_parameters(const CampaignResults& results) {
  if (results.values_to_draw == 0) {
    return {};
  }
  return fmt::format("  parameters: {} of {} values other than the usual ones drawn, in {} runs\n",
                     results.drawn_values.size(),
                     results.values_to_draw,
                     results.runs_with_drawn_values);
}

/// Empty if everything was tried.
std::string text_of_share(const CampaignResults& results) {
  if (results.share >= 1) {
    return {};
  }
  return fmt::format(
      "  drawn by seed {}: a share of {} of {} faults after a fault, in addition to known plans, "
      "and of "
      "the "
      "scenarios in each ambient; --share 1 tries all\n\n",
      results.seed,
      results.share,
      results.second_level_whole);
}

std::string text_of(const CampaignResults& results) {
  std::string text = text_of_omissions(results);
  text += table_of(results.scenarios) + text_of_outsiders(results.scenarios) + "\n";
  text += text_of_matrix(results);
  text += table_of("faults after a fault", results.second_level) + "\n";
  text += table_of_ambients(results) + text_of_share(results);
  text += table_of(results.oracles);
  text += text_of_worlds(results);
  text += text_of_speed(results);
  text += text_of_random_pairs(results);
  text += text_of_parameters(results);
  text += fmt::format("  points: {} of {} reached; kills: {}; names left behind: {}; seed {}\n",
                      results.points_reached,
                      results.points_declared,
                      results.kills,
                      results.leftovers,
                      results.seed);
  text += text_of_probes(results);
  text += text_of(results.permitted_leftovers);
  if (results.resumed > 0) {
    text += fmt::format("  {} faults were executed by an earlier gate\n", results.resumed);
  }
  for (const std::string& note : results.notes) {
    text += fmt::format("  note: {}\n", note);
  }
  return text;
}

double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

Json json_of(const Count& count) {
  return {{"total", count.total}, {"executed", count.executed}};
}

Json json_of(const std::map<std::string, Count, std::less<>>& counts) {
  Json json = Json::object();
  for (const auto& [name, count] : counts) {
    json[name] = json_of(count);
  }
  return json;
}

Json json_of(const WorldReport& world) {
  return {{"name", world.name},
          {"available", world.available},
          {"degraded", world.degraded.empty() ? Json(nullptr) : Json(world.degraded)}};
}

Json json_of(const ScenarioReport& scenario) {
  return {{"name", scenario.name},
          {"sentence", scenario.sentence},
          {"rows", scenario.rows},
          {"outside_matrix",
           scenario.outside_matrix.empty() ? Json(nullptr) : Json(scenario.outside_matrix)},
          {"sites", scenario.sites},
          {"matrix", json_of(scenario.matrix)},
          {"runs", scenario.runs},
          {"violations", scenario.violations},
          {"seconds", rounded(scenario.seconds)}};
}

Json json_of(const AmbientReport& ambient) {
  Json json = json_of(ambient.runs);
  json["name"] = ambient.name;
  json["sentence"] = ambient.sentence;
  json["differs"] = ambient.differs;
  json["violations"] = ambient.violations;
  return json;
}

Json json_of(const OracleReport& oracle) {
  Json waived = Json::object();
  for (std::size_t at = 1; at < oracle.waived.size(); ++at) {
    if (oracle.waived[at] > 0) {
      waived[std::string(name_of(static_cast<Waiver>(at)))] = oracle.waived[at];
    }
  }
  return {{"name", oracle.name},
          {"judged", oracle.judged},
          {"looked", oracle.looked},
          {"filled", oracle.filled},
          {"waived", waived}};
}

Json json_of(const PermittedCount<std::uint64_t>& permitted) {
  Json reasons = Json::object();
  for (std::size_t at = 0; at < names_of(WhyPermitted()).size(); ++at) {
    const auto why = static_cast<WhyPermitted>(at);
    for (std::size_t of = 0; of < names_of(NameKind()).size(); ++of) {
      const auto kind = static_cast<NameKind>(of);
      if (const std::uint64_t count = permitted.count(why, kind); count > 0) {
        reasons[std::string(name_of(why))][std::string(name_of(kind))] = count;
      }
    }
  }
  return {{"total", permitted.total()}, {"by_reason", reasons}};
}

Json json_of(const ProbeReport& probe) {
  return {{"name", probe.name},
          {"sentence", probe.sentence},
          {"runs", probe.runs},
          {"scenario", probe.scenario},
          {"replay", probe.replay},
          {"by_chance", probe.by_chance},
          {"seen_earlier", probe.seen_earlier}};
}

Json json_of(const Missed& missed) {
  return {{"scenario", missed.scenario}, {"fault", missed.fault}};
}

template <typename Each>
Json list_of(const std::vector<Each>& items) {
  Json json = Json::array();
  for (const Each& item : items) {
    json.push_back(json_of(item));
  }
  return json;
}

Json json_of(const MatrixCount& matrix) {
  Json json = json_of(matrix.all);
  json["by_role"] = json_of(matrix.by_role);
  json["by_fault"] = json_of(matrix.by_fault);
  return json;
}

Json json_of_matrices(const CampaignResults& results) {
  Json json = json_of(results.matrix);
  json["site_total"] = results.site_matrix;
  json["full_total"] = results.full_matrix;
  json["allocation_sites"] = results.allocation_sites;
  json["resumed"] = results.resumed;
  json["not_reached"] = list_of(results.missed);
  return json;
}

Json fields_of(const CampaignResults& results) {
  Json json;
  json["worlds"] = list_of(results.worlds);
  json["scenarios"] = results.scenarios.size();
  json["runs"] = results.runs;
  json["runs_by_purpose"] = {{"clean", results.clean_runs},
                             {"matrix", results.matrix_runs},
                             {"second_level", results.second_level_runs},
                             {"ambients", results.ambient_runs},
                             {"random", results.random_runs}};
  json["runs_to_compare"] = results.runs_to_compare;
  json["random_pairs"] = {{"matrix", json_of(results.random_pairs_of_matrix)},
                          {"second_level", json_of(results.random_pairs_of_second_level)}};
  json["interrupted"] = results.interrupted;
  json["left_out"] = results.left_out;
  json["points_declared"] = results.points_declared;
  json["points_reached"] = results.points_reached;
  json["points_never_reached"] = results.never_reached;
  json["probes_declared"] = results.probes.size();
  json["probes_seen"] = results.probes.size() - never_seen(results).size();
  json["probes"] = list_of(results.probes);
  json["matrix"] = json_of_matrices(results);
  json["second_level"] = json_of(results.second_level);
  json["second_level"]["whole"] = results.second_level_whole;
  json["share"] = results.share;
  json["ambients"] = list_of(results.ambients);
  json["oracles"] = list_of(results.oracles);
  json["kills"] = results.kills;
  json["leftovers"] = results.leftovers;
  json["permitted_leftovers"] = json_of(results.permitted_leftovers);
  json["seconds"] = rounded(results.seconds);
  json["runs_per_second"] = rounded(results.runs_per_second());
  json["bare_loop_per_second"] =
      results.bare_loop_per_second ? Json(rounded(*results.bare_loop_per_second)) : Json(nullptr);
  json["seed"] = results.seed;
  json["scenario_results"] = list_of(results.scenarios);
  json["notes"] = results.notes;
  return json;
}

ReportCase case_of(const ScenarioReport& scenario) {
  ReportCase made = case_of_scenario(scenario.name);
  made.output = fmt::format("{}\n{} sites, {} of {} faults executed, {} runs",
                            scenario.sentence,
                            scenario.sites,
                            scenario.matrix.executed,
                            scenario.matrix.total,
                            scenario.runs);
  made.seconds = scenario.seconds;
  return made;
}

/// Problems of the whole that belong to no single scenario.
ReportCase case_of_completeness(const CampaignResults& results) {
  ReportCase made{.suite = "gate", .name = "complete"};
  if (exit_of(results) == Exit::incomplete) {
    made.error = verdict_of(results);
    for (const std::string& point : results.never_reached) {
      made.error += "\nnever reached: " + point;
    }
    for (const ProbeReport* probe : never_seen(results)) {
      made.error += "\nnever seen: " + probe->name + ": " + probe->sentence;
    }
  }
  return made;
}

}  // namespace

Report report_of(const CampaignResults& results) {
  Report report{.verb = "gate",
                .exit = exit_of(results),
                .verdict = verdict_of(results),
                .groups = results.groups,
                .differences = results.differences,
                .after = text_of(results),
                .seconds = results.seconds,
                .fields = std::make_shared<const Json>(fields_of(results))};
  for (const ScenarioReport& scenario : results.scenarios) {
    report.cases.push_back(case_of(scenario));
  }
  report.cases.push_back(case_of_completeness(results));
  return report;
}

void add_to(Report& report, std::string_view name, const CampaignResults& results) {
  constexpr std::array by_gravity = {
      Exit::clean, Exit::incomplete, Exit::not_deterministic, Exit::violation};
  const std::vector<ViolationGroup> known = report.groups;
  for (const ViolationGroup& each : results.groups) {
    if (std::ranges::none_of(known, [&](const ViolationGroup& other) {
          return other.scenario == each.scenario && other.claim == each.claim;
        })) {
      report.groups.push_back(each);
    }
  }
  report.differences.insert(
      report.differences.end(), results.differences.begin(), results.differences.end());
  std::size_t sites = 0;
  for (const ScenarioReport& each : results.scenarios) {
    sites += each.sites;
  }
  const double share = results.seconds / std::max(report.seconds, 0.001);
  report.after = fmt::format(
                     "{}: {} sites, {} of {} faults executed, {} runs in {:.1f} s ({:.0f} % of the "
                     "time); {}\n\n",
                     name,
                     sites,
                     results.matrix.all.executed,
                     results.matrix.all.total,
                     results.runs,
                     results.seconds,
                     100 * share,
                     counted(results.violations, "violation")) +
                 report.after;
  const Exit exit = exit_of(results);
  if (std::ranges::find(by_gravity, exit) > std::ranges::find(by_gravity, report.exit)) {
    report.exit = exit;
    report.verdict = fmt::format("{}: {}", name, verdict_of(results));
  }
}

}  // namespace lastref::harness
