#include "harness/report/json.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;

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

Json json_of(const Violation& violation) {
  return {{"scenario", violation.scenario},
          {"claim", violation.claim},
          {"seen", violation.seen},
          {"repeats", violation.repeats},
          {"replay", violation.replay},
          {"last_crossings", violation.last_crossings}};
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

Json json_of(const UnpromisedCount<std::uint64_t>& unpromised) {
  Json reasons = Json::object();
  for (std::size_t at = 0; at < names_of(WhyUnpromised()).size(); ++at) {
    const auto why = static_cast<WhyUnpromised>(at);
    for (std::size_t of = 0; of < names_of(NameKind()).size(); ++of) {
      const auto kind = static_cast<NameKind>(of);
      if (const std::uint64_t count = unpromised.count(why, kind); count > 0) {
        reasons[std::string(name_of(why))][std::string(name_of(kind))] = count;
      }
    }
  }
  return {{"total", unpromised.total()}, {"by_reason", reasons}};
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

Json json_of(const Difference& difference) {
  return {
      {"scenario", difference.scenario}, {"replay", difference.replay}, {"seen", difference.seen}};
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

Json matrix_of_report(const Report& report) {
  Json json = json_of(report.matrix);
  json["site_total"] = report.site_matrix;
  json["full_total"] = report.full_matrix;
  json["allocation_sites"] = report.allocation_sites;
  json["resumed"] = report.resumed;
  json["not_reached"] = list_of(report.missed);
  return json;
}

void add_violations(const Report& report, Json& json) {
  json["violations"] = Json::array();
  json["violation_groups"] = Json::array();
  for (const ViolationGroup& group : report.groups) {
    for (const Violation& violation : group.first) {
      json["violations"].push_back(json_of(violation));
    }
    json["violation_groups"].push_back(
        {{"scenario", group.scenario}, {"claim", group.claim}, {"count", group.count}});
  }
  json["violations_total"] = report.violations;
}

}  // namespace

std::string to_json(const Report& report) {
  Json json;
  json["exit"] = static_cast<int>(exit_of(report));
  json["verdict"] = verdict_of(report);
  json["worlds"] = list_of(report.worlds);
  json["scenarios"] = report.scenarios.size();
  json["runs"] = report.runs;
  json["runs_by_purpose"] = {{"clean", report.clean_runs},
                             {"matrix", report.matrix_runs},
                             {"second_level", report.second_level_runs},
                             {"ambients", report.ambient_runs},
                             {"random", report.random_runs}};
  json["runs_to_compare"] = report.runs_to_compare;
  json["random_pairs"] = {{"matrix", json_of(report.random_pairs_of_matrix)},
                          {"second_level", json_of(report.random_pairs_of_second_level)}};
  json["interrupted"] = report.interrupted;
  json["left_out"] = report.left_out;
  json["points_declared"] = report.points_declared;
  json["points_reached"] = report.points_reached;
  json["points_never_reached"] = report.never_reached;
  json["probes_declared"] = report.probes.size();
  json["probes_seen"] = report.probes.size() - never_seen(report).size();
  json["probes"] = list_of(report.probes);
  json["matrix"] = matrix_of_report(report);
  json["second_level"] = json_of(report.second_level);
  json["second_level"]["whole"] = report.second_level_whole;
  json["share"] = report.share;
  json["ambients"] = list_of(report.ambients);
  json["oracles"] = list_of(report.oracles);
  json["kills"] = report.kills;
  json["leftovers"] = report.leftovers;
  json["leftovers_nobody_promised_to_remove"] = json_of(report.unpromised);
  add_violations(report, json);
  json["not_deterministic"] = list_of(report.differences);
  json["seconds"] = rounded(report.seconds);
  json["runs_per_second"] = rounded(report.runs_per_second());
  json["bare_loop_per_second"] =
      report.bare_loop_per_second ? Json(rounded(*report.bare_loop_per_second)) : Json(nullptr);
  json["seed"] = report.seed;
  json["scenario_results"] = list_of(report.scenarios);
  json["notes"] = report.notes;
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lastref::harness
