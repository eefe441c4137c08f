#include "harness/explore/hunt_state.hpp"

#include <algorithm>
#include <concepts>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/platform/hash.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view title = "lastref hunt 1";
/// More runs than a hunt can make.
constexpr std::uint64_t number_max = std::uint64_t{1} << 48U;

Json json_of(const Violation& violation) {
  return {{"scenario", violation.scenario},
          {"claim", violation.claim},
          {"seen", violation.seen},
          {"fingerprint", violation.fingerprint},
          {"run", violation.run},
          {"repeats", violation.repeats},
          {"replay", violation.replay},
          {"switches", violation.switches},
          {"timeline", violation.timeline},
          {"last_crossings", violation.last_crossings}};
}

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

/// Reads members of objects. `is_valid` is false after a member that is missing, of another type or
/// too large; it is then read as empty.
class Reader {
 public:
  bool is_valid() const noexcept { return is_valid_; }
  void refuse() noexcept { is_valid_ = false; }

  template <typename T>
  T read(const Json& from, const char* name) {
    const auto found = from.is_object() ? from.find(name) : from.end();
    if (!from.is_object() || found == from.end()) {
      refuse();
      return {};
    }
    return value_of<T>(*found);
  }

  /// Calls `each` with the elements of an array.
  template <typename Each>
  void for_each(const Json& from, const char* name, const Each& each) {
    const auto found = from.is_object() ? from.find(name) : from.end();
    if (!from.is_object() || found == from.end() || !found->is_array()) {
      refuse();
      return;
    }
    for (const Json& element : *found) {
      each(element);
    }
  }

  template <typename T>
  T value_of(const Json& json) {
    if constexpr (std::same_as<T, bool>) {
      return json.is_boolean() ? json.get<bool>() : refused<T>();
    } else if constexpr (std::same_as<T, std::string>) {
      return json.is_string() ? json.get<std::string>() : refused<T>();
    } else if constexpr (std::same_as<T, double>) {
      return json.is_number() ? json.get<double>() : refused<T>();
    } else {
      const bool is_number = json.is_number_unsigned() && json.get<std::uint64_t>() < number_max;
      return is_number ? json.get<T>() : refused<T>();
    }
  }

 private:
  template <typename T>
  T refused() noexcept {
    refuse();
    return {};
  }

  bool is_valid_ = true;
};

std::uint64_t hash_in(Reader& reader, const Json& json) {
  if (!json.is_number_unsigned()) {
    reader.refuse();
    return 0;
  }
  return json.get<std::uint64_t>();
}

PolicyName policy_in(Reader& reader, const Json& json) {
  const auto policy = policy_named(reader.read<std::string>(json, "policy"));
  if (!policy) {
    reader.refuse();
  }
  return policy.value_or(PolicyName::sticky);
}

Violation violation_in(Reader& reader, const Json& json) {
  Violation read{.scenario = reader.read<std::string>(json, "scenario"),
                 .claim = reader.read<std::string>(json, "claim"),
                 .seen = reader.read<std::string>(json, "seen"),
                 .fingerprint = reader.read<std::string>(json, "fingerprint"),
                 .run = reader.read<std::size_t>(json, "run"),
                 .repeats = reader.read<bool>(json, "repeats"),
                 .replay = reader.read<std::string>(json, "replay"),
                 .switches = reader.read<std::size_t>(json, "switches"),
                 .last_crossings = {},
                 .timeline = reader.read<std::string>(json, "timeline")};
  reader.for_each(json, "last_crossings", [&](const Json& each) {
    read.last_crossings.push_back(reader.value_of<std::string>(each));
  });
  return read;
}

void read_scenario(Reader& reader, const Json& json, HuntState& state) {
  HuntState::Scenario read{
      .is_known = reader.read<bool>(json, "is_known"),
      .deviations_given = reader.read<std::uint64_t>(json, "deviations_given"),
      .orders_of_deviations = reader.read<std::size_t>(json, "orders_of_deviations"),
      .random_runs = reader.read<std::uint64_t>(json, "random_runs")};
  reader.for_each(
      json, "orders", [&](const Json& each) { read.orders.push_back(hash_in(reader, each)); });
  reader.for_each(json, "fingerprints", [&](const Json& each) {
    read.fingerprints.push_back(reader.value_of<std::string>(each));
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
    reader.refuse();
  }
  state.scenarios.push_back(std::move(read));
}

void read_results(Reader& reader, const Json& json, HuntResults& results) {
  results.runs = reader.read<std::uint64_t>(json, "runs");
  results.runs_with_findings = reader.read<std::size_t>(json, "runs_with_findings");
  results.seconds = reader.read<double>(json, "seconds");
  reader.for_each(json, "policies", [&](const Json& each) {
    results.policies.push_back({.name = policy_in(reader, each),
                                .runs = reader.read<std::uint64_t>(each, "runs"),
                                .new_orders = reader.read<std::size_t>(each, "new_orders"),
                                .found = reader.read<std::size_t>(each, "found")});
  });
  reader.for_each(json, "violations", [&](const Json& each) {
    results.violations.push_back(violation_in(reader, each));
  });
  reader.for_each(json, "curve", [&](const Json& each) {
    results.curve.push_back({.runs = reader.read<std::uint64_t>(each, "runs"),
                             .seconds = reader.read<double>(each, "seconds"),
                             .orders = reader.read<std::size_t>(each, "orders")});
  });
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
  for (const char* list : {"scenarios", "policies", "violations", "curve", "under_way"}) {
    json[list] = Json::array();
  }
  for (std::size_t at = 0; at < state.scenarios.size(); ++at) {
    json["scenarios"].push_back(json_of(results.scenarios[at], state.scenarios[at]));
  }
  for (const HuntedPolicy& each : results.policies) {
    json["policies"].push_back({{"policy", name_of(each.name)},
                                {"runs", each.runs},
                                {"new_orders", each.new_orders},
                                {"found", each.found}});
  }
  for (const Violation& each : results.violations) {
    json["violations"].push_back(json_of(each));
  }
  for (const HuntMoment& each : results.curve) {
    json["curve"].push_back(
        {{"runs", each.runs}, {"seconds", each.seconds}, {"orders", each.orders}});
  }
  for (const HuntState::UnderWay& each : state.under_way) {
    json["under_way"].push_back({{"number", each.number},
                                 {"scenario", each.scenario},
                                 {"is_deviation", each.is_deviation},
                                 {"index", each.index},
                                 {"policy", name_of(each.policy)}});
  }
  return json.dump(1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

tl::expected<HuntState, HuntStateError> parse_hunt_state(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("title", Json()) != title) {
    return tl::unexpected(HuntStateError::not_a_state);
  }
  Reader reader;
  HuntState state;
  state.hunt = json.contains("hunt") ? hash_in(reader, json["hunt"]) : 0;
  state.turn = reader.read<std::size_t>(json, "turn");
  state.left_in_turn = reader.read<std::uint64_t>(json, "left_in_turn");
  state.given = reader.read<std::uint64_t>(json, "given");
  read_results(reader, json, state.results);
  reader.for_each(json, "scenarios", [&](const Json& each) { read_scenario(reader, each, state); });
  reader.for_each(json, "under_way", [&](const Json& each) {
    state.under_way.push_back({.number = reader.read<std::uint64_t>(each, "number"),
                               .scenario = reader.read<std::size_t>(each, "scenario"),
                               .is_deviation = reader.read<bool>(each, "is_deviation"),
                               .index = reader.read<std::uint64_t>(each, "index"),
                               .policy = policy_in(reader, each)});
  });
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
