#include "harness/explore/gate_merge.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/explore/progress_file.hpp"
#include "harness/explore/sampler.hpp"
#include "harness/explore/second_level.hpp"
#include "harness/platform/names.hpp"
#include "harness/report/violation_groups.hpp"

namespace lastref::harness {
namespace {

/// Why the results cannot be of one gate; empty: they can.
std::string difference_of(const CampaignResults& one, const CampaignResults& other) {
  const auto same_names = [](const auto& these, const auto& those) {
    return std::ranges::equal(
        these,
        those,
        {},
        [](const auto& each) { return each.name; },
        [](const auto& each) { return each.name; });
  };
  if (!same_names(one.scenarios, other.scenarios)) {
    return "other scenarios";
  }
  for (std::size_t at = 0; at < one.scenarios.size(); ++at) {
    if (one.scenarios[at].plan != other.scenarios[at].plan) {
      return fmt::format("other faults for {}: its clean run made other calls",
                         one.scenarios[at].name);
    }
  }
  return !same_names(one.ambients, other.ambients)                            ? "other ambients"
         : !same_names(one.probes, other.probes)                              ? "other probes"
         : one.points_declared != other.points_declared                       ? "other points"
         : std::tie(one.seed, one.share) != std::tie(other.seed, other.share) ? "another sample"
                                                                              : "";
}

std::string difference_of(const GatePart& one, const GatePart& other) {
  const GateResults& mine = one.results;
  const GateResults& others = other.results;
  if (mine.small.has_value() != others.small.has_value()) {
    return "other runs with small limits";
  }
  const std::string difference = difference_of(mine.campaign, others.campaign);
  return difference.empty() && mine.small ? difference_of(*mine.small, *others.small) : difference;
}

std::string text_of(const GateTrait& trait) {
  return trait.value.empty() ? "no " + trait.name : trait.name + ' ' + trait.value;
}

Status check_same_gate(const NamedPart& one, const NamedPart& other) {
  const auto differs = [&](const std::string& mine, const std::string& others) {
    return failure(std::errc::invalid_argument,
                   fmt::format("{}: it has {}, but {} has {}", other.name, others, one.name, mine));
  };
  const auto [mine, others] = std::ranges::mismatch(one.part.gate, other.part.gate);
  if (mine != one.part.gate.end() && others != other.part.gate.end()) {
    return differs(text_of(*mine), text_of(*others));
  }
  if (one.part.gate.size() != other.part.gate.size()) {
    return differs(counted(one.part.gate.size(), "option"),
                   counted(other.part.gate.size(), "option"));
  }
  if (one.part.shard.all != other.part.shard.all) {
    return differs("shard " + to_text(one.part.shard), "shard " + to_text(other.part.shard));
  }
  if (const std::string difference = difference_of(one.part, other.part); !difference.empty()) {
    return failure(std::errc::invalid_argument,
                   fmt::format("{}: unlike {}, it has {}", other.name, one.name, difference));
  }
  return ok();
}

/// All shards, each once.
Status check_whole(const std::vector<NamedPart>& parts) {
  std::map<std::size_t, std::string_view> names;
  for (const NamedPart& each : parts) {
    const auto [at, is_new] = names.emplace(each.part.shard.number, each.name);
    if (!is_new) {
      return failure(
          std::errc::file_exists,
          fmt::format(
              "{}: it is shard {}, as {} is", each.name, to_text(each.part.shard), at->second));
    }
  }
  constexpr std::size_t named_max = 10;
  const std::size_t all = parts.front().part.shard.all;
  std::vector<std::string> missing;
  for (std::size_t number = 1; number <= all && missing.size() < named_max; ++number) {
    if (!names.contains(number)) {
      missing.push_back(to_text({.number = number, .all = all}));
    }
  }
  if (missing.empty()) {
    return ok();
  }
  const std::size_t more = all - names.size() - missing.size();
  return failure(std::errc::no_such_file_or_directory,
                 fmt::format("missing: shard {}{}",
                             fmt::join(missing, ", "),
                             more > 0 ? fmt::format(" and {} more", more) : ""));
}

/// Adds those that are not there yet.
template <typename Each, typename Same = std::equal_to<>>
void unite(std::vector<Each>& all, std::vector<Each>&& more, const Same& same = {}) {
  for (Each& each : more) {
    if (std::ranges::none_of(all, [&](const Each& known) { return same(known, each); })) {
      all.push_back(std::move(each));
    }
  }
}

template <typename Each>
void append(std::vector<Each>& all, std::vector<Each>&& more) {
  std::ranges::move(more, std::back_inserter(all));
}

/// Adds up the results of the shards of one campaign.
class CampaignMerge {
 public:
  explicit CampaignMerge(const CampaignResults& one) : second_level_({}, one.seed) {
    // What is the same in all shards, and the names of rows.
    all_.probe_demand = one.probe_demand;
    all_.all_scenarios = one.all_scenarios;
    all_.points_declared = one.points_declared;
    all_.values_to_draw = one.values_to_draw;
    all_.site_matrix = one.site_matrix;
    all_.full_matrix = one.full_matrix;
    all_.allocation_sites = one.allocation_sites;
    all_.share = one.share;
    all_.kills_in_ambient = one.kills_in_ambient;
    all_.bare_loop_per_second = one.bare_loop_per_second;
    all_.seed = one.seed;
    all_.never_reached = one.never_reached;
    for (const ScenarioReport& each : one.scenarios) {
      all_.scenarios.push_back({.name = each.name,
                                .sentence = each.sentence,
                                .rows = each.rows,
                                .outside_matrix = each.outside_matrix,
                                .plan = each.plan});
    }
    for (const AmbientReport& each : one.ambients) {
      all_.ambients.push_back(
          {.name = each.name, .sentence = each.sentence, .differs = each.differs});
    }
    for (const ProbeReport& each : one.probes) {
      all_.probes.push_back({.name = each.name, .sentence = each.sentence});
    }
  }

  void add(const Shard& shard, CampaignResults&& part) {
    add_rows(part);
    add_counts(part);
    add_second_level(part);
    unite(
        all_.worlds, std::move(part.worlds), [](const WorldReport& one, const WorldReport& other) {
          return std::tie(one.name, one.available, one.degraded) ==
                 std::tie(other.name, other.available, other.degraded);
        });
    unite(all_.notes, std::move(part.notes));
    for (const std::string& each : part.left_out) {
      all_.left_out.push_back(fmt::format("{} in shard {}", each, to_text(shard)));
    }
    std::erase_if(all_.never_reached, [&](const std::string& point) {
      return std::ranges::find(part.never_reached, point) == part.never_reached.end();
    });
    all_.drawn_values.merge(part.drawn_values);
    append(all_.missed, std::move(part.missed));
    append(all_.differences, std::move(part.differences));
    all_.interrupted = all_.interrupted || part.interrupted;
    for (ViolationGroup& each : part.groups) {
      groups_.add(std::move(each));
    }
  }

  CampaignResults results() {
    count_second_level();
    all_.points_reached = all_.points_declared - all_.never_reached.size();
    all_.groups = groups_.sorted();
    std::ranges::sort(all_.missed, [](const Missed& one, const Missed& other) {
      return std::tie(one.scenario, one.fault) < std::tie(other.scenario, other.fault);
    });
    return std::move(all_);
  }

 private:
  void add_rows(const CampaignResults& part) {
    for (std::size_t at = 0; at < all_.scenarios.size(); ++at) {
      const ScenarioReport& from = part.scenarios[at];
      ScenarioReport& row = all_.scenarios[at];
      row.sites = std::max(row.sites, from.sites);
      row.matrix.add(from.matrix);
      row.runs += from.runs;
      row.violations += from.violations;
      row.seconds += from.seconds;
    }
    for (std::size_t at = 0; at < all_.ambients.size(); ++at) {
      all_.ambients[at].runs.add(part.ambients[at].runs);
      all_.ambients[at].violations += part.ambients[at].violations;
    }
    for (std::size_t at = 0; at < all_.probes.size(); ++at) {
      const ProbeReport& from = part.probes[at];
      ProbeReport& row = all_.probes[at];
      if (from.runs > 0 && (row.runs == 0 || from.first_run < row.first_run)) {
        row.scenario = from.scenario;
        row.replay = from.replay;
        row.by_chance = from.by_chance;
        row.first_run = from.first_run;
      }
      row.runs += from.runs;
      row.seen_earlier = row.seen_earlier || from.seen_earlier;
    }
    for (const OracleReport& each : part.oracles) {
      auto row = std::ranges::find(all_.oracles, each.name, &OracleReport::name);
      if (row == all_.oracles.end()) {
        row = all_.oracles.insert(row, {.name = each.name});
      }
      row->add(each);
    }
  }

  void add_counts(const CampaignResults& part) {
    for (const auto count : {&CampaignResults::runs,
                             &CampaignResults::clean_runs,
                             &CampaignResults::matrix_runs,
                             &CampaignResults::second_level_runs,
                             &CampaignResults::resumed,
                             &CampaignResults::ambient_runs,
                             &CampaignResults::random_runs,
                             &CampaignResults::runs_with_drawn_values,
                             &CampaignResults::runs_to_compare,
                             &CampaignResults::violations}) {
      all_.*count += part.*count;
    }
    all_.random_pairs_of_matrix.add(part.random_pairs_of_matrix);
    all_.random_pairs_of_second_level.add(part.random_pairs_of_second_level);
    all_.matrix.add(part.matrix);
    all_.kills += part.kills;
    all_.leftovers += part.leftovers;
    all_.permitted_leftovers.add(part.permitted_leftovers);
    all_.seconds += part.seconds;
  }

  void add_second_level(CampaignResults& part) {
    SecondLevelOfShard& mine = part.second_level_of_shard;
    executed_ += part.second_level.all.executed;
    all_.second_level.add(mine.known_plans);
    not_executed_.merge(mine.not_executed);
    for (const std::string& each : mine.aftermaths) {
      const auto known = parse_aftermath(each);
      const auto scenario =
          std::ranges::find(all_.scenarios, known ? known->scenario : "", &ScenarioReport::name);
      if (known && scenario != all_.scenarios.end()) {
        second_level_.add(static_cast<std::size_t>(scenario - all_.scenarios.begin()),
                          known->first,
                          std::span(&known->crossing, 1));
      }
    }
  }

  /// Counts the faults that a whole gate would have planned. The shard that executed the first
  /// fault of a pair executed the pair, too.
  void count_second_level() {
    const std::vector<Pair> pairs = second_level_.pairs();
    all_.second_level_whole = pairs.size();
    for (const Pair& each : Sampler(all_.share, all_.seed).draw_of(pairs)) {
      const std::string text = all_.scenarios[each.scenario].name + ' ' +
                               harness::text_of(std::vector{each.first, each.second});
      all_.second_level.plan(each.second);
      if (not_executed_.erase(text) == 0) {
        all_.second_level.execute(each.second);
      }
    }
    std::erase_if(all_.missed, [&](const Missed& each) {
      return not_executed_.contains(each.scenario + ' ' + each.fault);
    });
    if (const std::size_t more = executed_ - std::min(executed_, all_.second_level.all.executed);
        more > 0) {
      all_.notes.push_back(
          fmt::format("{} were executed in addition, because each shard has its own",
                      counted(more, "fault") + " after a fault"));
    }
  }

  CampaignResults all_;
  ViolationGroups groups_;
  SecondLevel second_level_;
  std::set<std::string> not_executed_;
  std::size_t executed_ = 0;  ///< Faults after a fault, in all shards
};

/// A shard has some of the scenarios.
void add(HuntResults& all, HuntResults&& part, std::size_t& orders) {
  append(all.scenarios, std::move(part.scenarios));
  append(all.violations, std::move(part.violations));
  for (const HuntedPolicy& each : part.policies) {
    auto row = std::ranges::find(all.policies, each.name, &HuntedPolicy::name);
    if (row == all.policies.end()) {
      row = all.policies.insert(row, {.name = each.name});
    }
    row->runs += each.runs;
    row->new_orders += each.new_orders;
    row->found += each.found;
  }
  all.runs += part.runs;
  all.runs_with_findings += part.runs_with_findings;
  all.seconds += part.seconds;
  all.interrupted = all.interrupted || part.interrupted;
  orders += part.curve.empty() ? 0 : part.curve.back().orders;
  all.curve = {{.runs = all.runs, .seconds = all.seconds, .orders = orders}};
}

/// In the order of the scenarios of the gate.
void sort(HuntResults& hunt, const std::vector<ScenarioReport>& scenarios) {
  std::ranges::sort(hunt.scenarios, {}, [&](const HuntedScenario& each) {
    return std::ranges::find(scenarios, each.name, &ScenarioReport::name) - scenarios.begin();
  });
}

}  // namespace

Result<GateResults> merge_parts(std::vector<NamedPart> parts) {
  for (const NamedPart& each : parts) {
    LASTREF_CHECK(check_same_gate(parts.front(), each));
  }
  LASTREF_CHECK(check_whole(parts));
  std::ranges::sort(parts, {}, [](const NamedPart& each) { return each.part.shard.number; });
  const GateResults& first = parts.front().part.results;
  CampaignMerge campaign(first.campaign);
  std::optional<CampaignMerge> small;
  if (first.small) {
    small.emplace(*first.small);
  }
  GateResults merged;
  std::size_t orders = 0;
  for (NamedPart& each : parts) {
    GateResults& results = each.part.results;
    campaign.add(each.part.shard, std::move(results.campaign));
    if (small) {
      small->add(each.part.shard, *std::move(results.small));
    }
    if (results.hunt) {
      merged.hunt = merged.hunt ? std::move(merged.hunt) : HuntResults();
      add(*merged.hunt, *std::move(results.hunt), orders);
    }
  }
  merged.campaign = campaign.results();
  if (small) {
    merged.small = small->results();
  }
  if (merged.hunt) {
    sort(*merged.hunt, merged.campaign.scenarios);
  }
  return merged;
}

}  // namespace lastref::harness
