#include "harness/explore/gate_part.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/explore/hunt_members.hpp"
#include "harness/explore/progress_file.hpp"
#include "harness/report/bytes_in_json.hpp"
#include "harness/report/json_fields.hpp"

namespace lastref::harness {

void visit_members(auto& visit, SameAs<Count> auto& count) {
  visit("total", count.total);
  visit("executed", count.executed);
}

void visit_members(auto& visit, SameAs<MatrixCount> auto& matrix) {
  visit("all", matrix.all);
  visit("by_role", matrix.by_role);
  visit("by_fault", matrix.by_fault);
}

void visit_members(auto& visit, SameAs<WorldReport> auto& world) {
  visit("name", world.name);
  visit("available", world.available);
  visit("degraded", world.degraded);
}

void visit_members(auto& visit, SameAs<ScenarioReport> auto& scenario) {
  visit("name", scenario.name);
  visit("sentence", scenario.sentence);
  visit("rows", scenario.rows);
  visit("outside_matrix", scenario.outside_matrix);
  visit("sites", scenario.sites);
  visit.hash("plan", scenario.plan);
  visit("matrix", scenario.matrix);
  visit("runs", scenario.runs);
  visit("violations", scenario.violations);
  visit("seconds", scenario.seconds);
}

void visit_members(auto& visit, SameAs<AmbientReport> auto& ambient) {
  visit("name", ambient.name);
  visit("sentence", ambient.sentence);
  visit("differs", ambient.differs);
  visit("runs", ambient.runs);
  visit("violations", ambient.violations);
}

void visit_members(auto& visit, SameAs<OracleReport> auto& oracle) {
  visit("name", oracle.name);
  visit("judged", oracle.judged);
  visit("looked", oracle.looked);
  visit("filled", oracle.filled);
  visit("waived", oracle.waived);
}

void visit_members(auto& visit, SameAs<ProbeReport> auto& probe) {
  visit("name", probe.name);
  visit("sentence", probe.sentence);
  visit("runs", probe.runs);
  visit("scenario", probe.scenario);
  visit("replay", probe.replay);
  visit("by_chance", probe.by_chance);
  visit("first_run", probe.first_run);
  visit("seen_earlier", probe.seen_earlier);
}

void visit_members(auto& visit, SameAs<Missed> auto& missed) {
  visit("scenario", missed.scenario);
  visit("fault", missed.fault);
}

void visit_members(auto& visit, SameAs<Difference> auto& difference) {
  visit("scenario", difference.scenario);
  visit("replay", difference.replay);
  visit("seen", difference.seen);
}

void visit_members(auto& visit, SameAs<ViolationGroup> auto& group) {
  visit("scenario", group.scenario);
  visit("claim", group.claim);
  visit("count", group.count);
  visit("first", group.first);
}

void visit_members(auto& visit, SameAs<SecondLevelOfShard> auto& second_level) {
  visit("known_plans", second_level.known_plans);
  visit("aftermaths", second_level.aftermaths);
  visit("not_executed", second_level.not_executed);
}

template <typename Permitted>
requires SameAs<Permitted, PermittedCount<std::uint64_t>>
void visit_members(auto& visit, Permitted& permitted) {
  for (std::size_t at = 0; at < names_of(WhyPermitted()).size(); ++at) {
    for (std::size_t of = 0; of < names_of(NameKind()).size(); ++of) {
      const auto why = static_cast<WhyPermitted>(at);
      const auto kind = static_cast<NameKind>(of);
      std::uint64_t count = permitted.count(why, kind);
      visit(fmt::format("{}: {}", name_of(why), name_of(kind)).c_str(), count);
      if constexpr (!std::is_const_v<Permitted>) {
        permitted.add(why, kind, count);
      }
    }
  }
}

void visit_members(auto& visit, SameAs<CampaignResults> auto& results) {
  visit("worlds", results.worlds);
  visit("scenarios", results.scenarios);
  visit("runs", results.runs);
  visit("clean_runs", results.clean_runs);
  visit("matrix_runs", results.matrix_runs);
  visit("second_level_runs", results.second_level_runs);
  visit("resumed", results.resumed);
  visit("ambient_runs", results.ambient_runs);
  visit("random_runs", results.random_runs);
  visit("runs_with_drawn_values", results.runs_with_drawn_values);
  visit("values_to_draw", results.values_to_draw);
  visit("drawn_values", results.drawn_values);
  visit("runs_to_compare", results.runs_to_compare);
  visit("random_pairs_of_matrix", results.random_pairs_of_matrix);
  visit("random_pairs_of_second_level", results.random_pairs_of_second_level);
  visit("points_declared", results.points_declared);
  visit("points_reached", results.points_reached);
  visit("never_reached", results.never_reached);
  visit("probes", results.probes);
  visit("probe_demand", results.probe_demand);
  visit("interrupted", results.interrupted);
  visit("left_out", results.left_out);
  visit("all_scenarios", results.all_scenarios);
  visit("matrix", results.matrix);
  visit("site_matrix", results.site_matrix);
  visit("full_matrix", results.full_matrix);
  visit("allocation_sites", results.allocation_sites);
  visit("share", results.share);
  visit("second_level", results.second_level);
  visit("second_level_whole", results.second_level_whole);
  visit("second_level_of_shard", results.second_level_of_shard);
  visit("kills_in_ambient", results.kills_in_ambient);
  visit("ambients", results.ambients);
  visit("oracles", results.oracles);
  visit("missed", results.missed);
  visit("differences", results.differences);
  visit("kills", results.kills);
  visit("leftovers", results.leftovers);
  visit("permitted_leftovers", results.permitted_leftovers);
  visit("violations", results.violations);
  visit("groups", results.groups);
  visit("seconds", results.seconds);
  visit("bare_loop_per_second", results.bare_loop_per_second);
  visit.hash("seed", results.seed);
  visit("notes", results.notes);
}

void visit_members(auto& visit, SameAs<HuntedScenario> auto& scenario) {
  visit("name", scenario.name);
  visit("runs", scenario.runs);
  visit("deviations", scenario.deviations);
  visit("orders", scenario.orders);
  visit("violations", scenario.violations);
  visit("seconds", scenario.seconds);
}

void visit_members(auto& visit, SameAs<HuntResults> auto& results) {
  visit("scenarios", results.scenarios);
  visit("policies", results.policies);
  visit("violations", results.violations);
  visit("curve", results.curve);
  visit("runs", results.runs);
  visit("runs_with_findings", results.runs_with_findings);
  visit("seconds", results.seconds);
  visit("interrupted", results.interrupted);
}

void visit_members(auto& visit, SameAs<GateTrait> auto& trait) {
  visit("name", trait.name);
  visit("value", trait.value);
}

void visit_members(auto& visit, SameAs<Shard> auto& shard) {
  visit("number", shard.number);
  visit("all", shard.all);
}

void visit_members(auto& visit, SameAs<GatePart> auto& part) {
  visit("gate", part.gate);
  visit("shard", part.shard);
  visit("campaign", part.results.campaign);
  visit("small_limits", part.results.small);
  visit("hunt", part.results.hunt);
}

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view title = "lastref gate 1";

/// The first member that no gate writes; empty: there is none.
std::string_view wrong_in(const CampaignResults& results) {
  const auto is_empty = [](const ViolationGroup& each) { return each.first.empty(); };
  const auto is_aftermath = [](const std::string& each) {
    return parse_aftermath(each).has_value();
  };
  return std::ranges::any_of(results.groups, is_empty)            ? "groups"
         : results.never_reached.size() > results.points_declared ? "never_reached"
         : !std::ranges::all_of(results.second_level_of_shard.aftermaths, is_aftermath)
             ? "aftermaths"
             : "";
}

std::string_view wrong_in(const GatePart& part) {
  if (part.shard.number < 1 || part.shard.number > part.shard.all) {
    return "shard";
  }
  const std::string_view wrong = wrong_in(part.results.campaign);
  return wrong.empty() && part.results.small ? wrong_in(*part.results.small) : wrong;
}

}  // namespace

std::string to_text(const GatePart& part) {
  Json json = {{"title", title}};
  json.update(JsonWriter::json_from(part));
  write_bytes_as_text(json);
  return json.dump() + "\n";
}

Result<GatePart> parse_gate_part(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("title", Json()) != title) {
    return failure(std::errc::bad_message,
                   fmt::format("it is not a file of \"{}\", or was cut", title));
  }
  read_text_as_bytes(json);
  JsonReader reader;
  auto part = reader.value_of<GatePart>(json, "gate");
  const std::string_view wrong = reader.is_valid() ? wrong_in(part) : reader.wrong();
  if (!wrong.empty()) {
    return failure(std::errc::bad_message,
                   fmt::format("\"{}\" is missing, or has a value that no gate writes", wrong));
  }
  return part;
}

}  // namespace lastref::harness
