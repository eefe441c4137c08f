#include "harness/explore/hunt_state.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/explore/hunt_members.hpp"
#include "harness/platform/hash.hpp"
#include "harness/report/json_fields.hpp"

namespace lastref::harness {

void visit_members(auto& visit, SameAs<HuntState::UnderWay> auto& run) {
  visit("number", run.number);
  visit("scenario", run.scenario);
  visit("is_deviation", run.is_deviation);
  visit("index", run.index);
  visit("policy", run.policy);
}

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view title = "lastref hunt 1";

Json json_of(const HuntedScenario& row, const HuntState::Scenario& state) {
  return {{"name", row.name},
          {"runs", row.runs},
          {"deviations", row.deviations.total},
          {"deviations_executed", row.deviations.executed},
          {"violations", row.violations},
          {"seconds", row.seconds},
          {"is_known", state.is_known},
          {"deviations_given", state.deviations_given},
          {"orders_of_deviations", state.orders_of_deviations},
          {"random_runs", state.random_runs},
          {"orders", state.orders},
          {"fingerprints", state.fingerprints}};
}

void read_scenario(JsonReader& reader, const Json& json, HuntState& state) {
  HuntState::Scenario read{
      .is_known = reader.read<bool>(json, "is_known"),
      .deviations_given = reader.read<std::uint64_t>(json, "deviations_given"),
      .orders_of_deviations = reader.read<std::size_t>(json, "orders_of_deviations"),
      .random_runs = reader.read<std::uint64_t>(json, "random_runs")};
  reader.for_each(json, "orders", [&](const Json& each) {
    read.orders.push_back(reader.hash_in(each, "orders"));
  });
  reader.for_each(json, "fingerprints", [&](const Json& each) {
    read.fingerprints.push_back(reader.value_of<std::string>(each, "fingerprints"));
  });
  state.results.scenarios.push_back(
      {.name = reader.read<std::string>(json, "name"),
       .runs = reader.read<std::uint64_t>(json, "runs"),
       .deviations = {.total = reader.read<std::size_t>(json, "deviations"),
                      .executed = reader.read<std::size_t>(json, "deviations_executed")},
       .orders = read.orders.size(),
       .violations = reader.read<std::size_t>(json, "violations"),
       .seconds = reader.read<double>(json, "seconds")});
  if (!std::ranges::is_sorted(read.orders, std::less_equal{}) ||
      read.deviations_given > state.results.scenarios.back().deviations.total ||
      read.orders_of_deviations > read.orders.size()) {
    reader.refuse("scenarios");
  }
  state.scenarios.push_back(std::move(read));
}

void read_results(JsonReader& reader, const Json& json, HuntResults& results) {
  results.runs = reader.read<std::uint64_t>(json, "runs");
  results.runs_with_findings = reader.read<std::size_t>(json, "runs_with_findings");
  results.seconds = reader.read<double>(json, "seconds");
  results.policies = reader.read<std::vector<HuntedPolicy>>(json, "policies");
  results.violations = reader.read<std::vector<Violation>>(json, "violations");
  results.curve = reader.read<std::vector<HuntMoment>>(json, "curve");
}

/// Whether a hunt with this state can have given the run.
bool has_given(const HuntState& state, const HuntState::UnderWay& run) {
  if (run.scenario >= state.scenarios.size() || run.number >= state.given) {
    return false;
  }
  const HuntState::Scenario& of = state.scenarios[run.scenario];
  const std::vector<HuntedPolicy>& policies = state.results.policies;
  return of.is_known && run.index < (run.is_deviation ? of.deviations_given : of.random_runs) &&
         std::ranges::find(policies, run.policy, &HuntedPolicy::name) != policies.end();
}

bool has_valid_indices(const HuntState& state) {
  return state.turn < state.scenarios.size() &&
         std::ranges::all_of(state.under_way, [&](const HuntState::UnderWay& each) {
           return has_given(state, each);
         });
}

/// Its rows are those of the hunt: a state that was edited may have the identity of another one.
bool is_of(const HuntState& state, const HuntOptions& options) {
  return state.hunt == identity_of(options) &&
         std::ranges::equal(state.results.scenarios,
                            options.scenarios,
                            std::ranges::equal_to{},
                            &HuntedScenario::name,
                            [](const Scenario* each) { return each->name; }) &&
         std::ranges::equal(state.results.policies,
                            options.policies,
                            std::ranges::equal_to{},
                            &HuntedPolicy::name);
}

}  // namespace

std::uint64_t identity_of(const HuntOptions& options) {
  std::string text = fmt::format(
      "{} {} {} {}", options.build, options.seed, options.draws_parameters, options.has_faults);
  for (const Scenario* each : options.scenarios) {
    text += "\n" + each->name;
  }
  for (const PolicyName each : options.policies) {
    text += fmt::format("\n{}", name_of(each));
  }
  for (const ParameterValue& each : options.parameters) {
    text += "\n" + to_text(each);
  }
  return hash_of(text);
}

std::string to_text(const HuntState& state) {
  const HuntResults& results = state.results;
  Json json = {{"title", title},
               {"hunt", state.hunt},
               {"turn", state.turn},
               {"left_in_turn", state.left_in_turn},
               {"given", state.given},
               {"runs", results.runs},
               {"runs_with_findings", results.runs_with_findings},
               {"seconds", results.seconds}};
  json["scenarios"] = Json::array();
  for (std::size_t at = 0; at < state.scenarios.size(); ++at) {
    json["scenarios"].push_back(json_of(results.scenarios[at], state.scenarios[at]));
  }
  json["policies"] = JsonWriter::json_from(results.policies);
  json["violations"] = JsonWriter::json_from(results.violations);
  json["curve"] = JsonWriter::json_from(results.curve);
  json["under_way"] = JsonWriter::json_from(state.under_way);
  return json.dump(1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

tl::expected<HuntState, HuntStateError> parse_hunt_state(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("title", Json()) != title) {
    return tl::unexpected(HuntStateError::not_a_state);
  }
  JsonReader reader;
  HuntState state;
  state.hunt = json.contains("hunt") ? reader.hash_in(json["hunt"], "hunt") : 0;
  state.turn = reader.read<std::size_t>(json, "turn");
  state.left_in_turn = reader.read<std::uint64_t>(json, "left_in_turn");
  state.given = reader.read<std::uint64_t>(json, "given");
  read_results(reader, json, state.results);
  reader.for_each(json, "scenarios", [&](const Json& each) { read_scenario(reader, each, state); });
  state.under_way = reader.read<std::vector<HuntState::UnderWay>>(json, "under_way");
  if (!reader.is_valid() || !has_valid_indices(state)) {
    return tl::unexpected(HuntStateError::invalid);
  }
  return state;
}

tl::expected<HuntState, HuntStateError> parse_hunt_state(std::string_view text,
                                                         const HuntOptions& options) {
  auto state = parse_hunt_state(text);
  if (state && !is_of(*state, options)) {
    return tl::unexpected(HuntStateError::other_hunt);
  }
  return state;
}

}  // namespace lastref::harness
