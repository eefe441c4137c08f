// gate_merge_test: the shards of a campaign execute together what a whole one executes, and their
// merged results are those of the whole one; parts that do not belong together are refused.
#include "harness/explore/gate_merge.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/explore/campaign.hpp"
#include "harness/platform/hash.hpp"
#include "harness/report/json.hpp"
#include "harness/scenario/ambient.hpp"
#include "property_tests/harness/explore/fake_world.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::harness {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::SizeIs;

const std::string leak = "no-leak: every name created is removed";
const std::string hang = "no-hang: every run ends";

/// Their matrices differ; deaths leave files, and some errors cause hangs.
Outcome fails_at_times(const Scenario& scenario, const Plan& plan) {
  std::vector<Crossing> crossings = {
      crossing_of("now"), crossing_of("find_lock"), crossing_of("now", 2)};
  if (scenario.name == "family/two") {
    crossings.push_back(crossing_of("poll"));
  }
  Outcome outcome = clean_outcome(plan, std::move(crossings));
  outcome.looks = {{.seen = 1, .filled = static_cast<std::uint32_t>(plan.faults.size())}};
  for (const Fault& fault : plan.faults) {
    if (fault.kind == FaultKind::kill_after) {
      outcome.findings.push_back({.claim = leak, .seen = "a.bin is still there"});
      outcome.leftovers = 1;
    }
    outcome.kills += is_kill(fault.kind) ? 1U : 0U;
    if (fault.kind == FaultKind::fail_always) {
      outcome.findings.push_back({.claim = hang, .seen = "root waits"});
    }
    if (fault.kind == FaultKind::pause && !plan.seed) {
      outcome.faults_fired = 0;
    }
  }
  return outcome;
}

/// Runs with a finding are repeated and shrunk.
Outcome finds_nothing(const Scenario& scenario, const Plan& plan) {
  Outcome outcome = fails_at_times(scenario, plan);
  outcome.findings.clear();
  return outcome;
}

/// After a fault, a new tracker makes calls; several faults lead to the same ones.
Outcome starts_again(const Scenario&, const Plan& plan) {
  std::vector<Crossing> crossings;
  for (std::uint32_t k = 1; k <= 20; ++k) {
    crossings.push_back(crossing_of("now", k));
    crossings.back().callers = k;
  }
  if (plan.faults.size() == 1) {
    crossings = {crossing_of("close")};
    crossings.front().site.role = "tracker#2";
    crossings.front().callers =
        1000 + static_cast<std::uint32_t>(hash_of(to_text(plan.faults.front())) % 7);
  }
  return clean_outcome(plan, std::move(crossings));
}

/// The executed faults, without those of random runs and ambients: "family/one FAULT, then FAULT"
using Faults = std::multiset<std::string>;

class GateMerge : public testing::Test {
 protected:
  GateMerge() {
    for (const Scenario& each : scenarios_) {
      options_.scenarios.push_back(&each);
    }
    options_.full = true;
    options_.all_scenarios = false;
    options_.random_runs_max = 100;
    options_.clock = [] { return 0.0; };
  }

  /// As a file has it.
  NamedPart part(const Shard& shard, const FakeWorld::Run& act) {
    options_.shard = shard;
    executed_.clear();
    FakeWorld world([&](const Scenario& scenario, const Plan& plan) {
      if (!plan.faults.empty() && !plan.seed && plan.ambient.empty()) {
        std::string text = scenario.name;
        for (const Fault& fault : plan.faults) {
          text += (&fault == &plan.faults.front() ? " " : ", then ") + to_text(fault);
        }
        executed_.insert(std::move(text));
      }
      return act(scenario, plan);
    });
    World* const only = &world;
    GatePart made = {.gate = {{.name = "--seed", .value = "1"}, {.name = "--row", .value = ""}},
                     .shard = shard,
                     .results = {.campaign = run_campaign(std::span(&only, 1), options_)}};
    made.results.small = made.results.campaign;
    auto read = parse_gate_part(to_text(made));
    EXPECT_TRUE(read) << read.error().subject;
    EXPECT_EQ(to_text(*read), to_text(made));
    return {.name = fmt::format("part.{}", shard.number), .part = *std::move(read)};
  }

  std::vector<NamedPart> parts(std::size_t all, const FakeWorld::Run& act) {
    std::vector<NamedPart> made;
    together_.clear();
    for (std::size_t number = all; number >= 1; --number) {
      made.push_back(part({.number = number, .all = all}, act));
      together_.merge(Faults(executed_));
    }
    return made;
  }

  static GateResults must_merge(std::vector<NamedPart> parts) {
    auto merged = merge_parts(std::move(parts));
    EXPECT_TRUE(merged) << merged.error().subject;
    return std::move(merged).value_or(GateResults());
  }

  const std::vector<Scenario> scenarios_ = {
      named("family/one"), named("family/two"), named("other/three")};
  CampaignOptions options_;
  Faults executed_;  ///< By the last part
  Faults together_;  ///< By all parts
};

void leave_out_times(nlohmann::json& json) {
  for (const char* each : {"seconds", "runs_per_second"}) {
    if (json.is_object()) {
      json.erase(each);
    }
  }
  if (json.is_structured()) {
    std::ranges::for_each(json, leave_out_times);
  }
}

nlohmann::json json_of(const GateResults& results) {
  auto json = nlohmann::json::parse(to_json(report_of(results)));
  leave_out_times(json);
  return json;
}

TEST_F(GateMerge, of_any_number_of_shards_is_the_whole_gate) {
  for (const Ambient& each : ambients()) {
    options_.ambients.push_back(&each);
  }
  const auto expected = json_of(part({}, finds_nothing).part.results);
  EXPECT_EQ(expected["exit"], 3);
  EXPECT_THAT(expected["matrix"]["not_reached"], testing::Not(IsEmpty()));
  EXPECT_GT(expected["ambients"].at(0)["total"], 3U);
  for (const std::size_t all : {1U, 2U, 3U, 4U, 7U, 100U}) {
    const auto merged = json_of(must_merge(parts(all, finds_nothing)));
    EXPECT_EQ(nlohmann::json::diff(expected, merged), nlohmann::json::array()) << all;
  }
}

TEST_F(GateMerge, shows_the_violations_of_the_whole_gate) {
  // Only the runs that are shown are shrunk, which changes their faults. Of these a shard has more.
  const auto without_faults_of_runs = [](nlohmann::json json) {
    json.erase("kills");
    json.erase("random_pairs");
    return json;
  };
  const auto expected = without_faults_of_runs(json_of(part({}, fails_at_times).part.results));
  EXPECT_EQ(expected["exit"], 1);
  EXPECT_THAT(expected["violations"], SizeIs(testing::Gt(6)));
  for (const std::size_t all : {1U, 2U, 3U, 4U, 7U, 100U}) {
    const auto merged = without_faults_of_runs(json_of(must_merge(parts(all, fails_at_times))));
    EXPECT_EQ(nlohmann::json::diff(expected, merged), nlohmann::json::array()) << all;
  }
}

TEST_F(GateMerge, is_of_shards_that_execute_each_fault_once) {
  options_.random_runs_max = 0;
  part({}, finds_nothing);
  const Faults whole = executed_;
  EXPECT_EQ(whole.size(), std::set(whole.begin(), whole.end()).size());
  for (const std::size_t all : {2U, 5U, 100U}) {
    parts(all, finds_nothing);
    EXPECT_EQ(together_, whole) << all;
  }
}

TEST_F(GateMerge, has_the_random_runs_of_all_scenarios_in_each_shard) {
  options_.random_runs_max = 90;
  std::map<std::string, std::set<std::size_t>> shards;
  std::multiset<std::uint64_t> seeds;
  const std::size_t all = 3;  // As many as there are scenarios
  for (std::size_t number = 1; number <= all; ++number) {
    part({.number = number, .all = all}, [&](const Scenario& scenario, const Plan& plan) {
      if (plan.seed) {
        shards[scenario.name].insert(number);
        seeds.insert(*plan.seed);
      }
      return clean_outcome(plan, {crossing_of("now")});
    });
  }
  EXPECT_THAT(shards, SizeIs(3));
  for (const auto& [scenario, numbers] : shards) {
    EXPECT_THAT(numbers, SizeIs(all)) << scenario;
  }
  const std::set<std::uint64_t> different(seeds.begin(), seeds.end());
  EXPECT_GT(different.size(), 50U);
  // One of 64 is run twice.
  EXPECT_LE(seeds.size(), different.size() + 1);
}

TEST_F(GateMerge, counts_the_second_level_of_the_whole_gate) {
  options_.random_runs_max = 0;
  const NamedPart whole = part({}, starts_again);
  const Faults faults = executed_;
  const CampaignResults& expected = whole.part.results.campaign;
  EXPECT_GT(expected.second_level.all.total, 0U);
  for (const std::size_t all : {2U, 3U, 8U}) {
    const GateResults merged = must_merge(parts(all, starts_again));
    EXPECT_EQ(merged.campaign.second_level, expected.second_level) << all;
    EXPECT_EQ(merged.campaign.second_level_whole, expected.second_level_whole) << all;
    EXPECT_EQ(merged.campaign.matrix, expected.matrix) << all;
    EXPECT_THAT(together_, IsSupersetOf(faults)) << all;
    EXPECT_EQ(together_.size(), std::set(together_.begin(), together_.end()).size()) << all;
  }
}

TEST_F(GateMerge, knows_which_faults_of_the_second_level_were_not_executed) {
  options_.random_runs_max = 0;
  std::vector<NamedPart> made = parts(3, [](const Scenario& scenario, const Plan& plan) {
    Outcome outcome = starts_again(scenario, plan);
    outcome.faults_fired = std::min(outcome.faults_fired, 1U);
    return outcome;
  });
  const GateResults merged = must_merge(std::move(made));
  const Count& second = merged.campaign.second_level.all;
  EXPECT_EQ(second.executed, 0U);
  EXPECT_EQ(merged.campaign.missed.size(), second.total);
  EXPECT_EQ(exit_of(merged.campaign), Exit::incomplete);
}

TEST_F(GateMerge, adds_up_hunts) {
  options_.random_runs_max = 0;
  std::vector<NamedPart> made = parts(2, starts_again);
  for (NamedPart& each : made) {
    const bool is_first = each.part.shard.number == 1;
    each.part.results.hunt = {
        .scenarios = {{.name = is_first ? "other/three" : "family/one", .runs = 5}},
        .policies = {{.name = PolicyName::pct, .runs = 2, .new_orders = 1}},
        .violations =
            {{.scenario = "family/one", .claim = leak, .seen = "", .fingerprint = "0123abcd"}},
        .curve = {{.runs = 4, .orders = 1}, {.runs = 5, .orders = 3}},
        .runs = 5,
        .seconds = 0.5};
  }
  const GateResults merged = must_merge(std::move(made));
  ASSERT_TRUE(merged.hunt);
  ASSERT_THAT(merged.hunt->scenarios, SizeIs(2));
  EXPECT_EQ(merged.hunt->scenarios[0].name, "family/one");
  EXPECT_EQ(merged.hunt->runs, 10U);
  ASSERT_THAT(merged.hunt->policies, SizeIs(1));
  EXPECT_EQ(merged.hunt->policies[0].runs, 4U);
  ASSERT_THAT(merged.hunt->curve, SizeIs(1));
  EXPECT_EQ(merged.hunt->curve[0].orders, 6U);
  const Report report = report_of(merged);
  ASSERT_THAT(report.groups, SizeIs(1));
  EXPECT_EQ(report.groups[0].fingerprint, "0123abcd");
  EXPECT_EQ(report.exit, Exit::violation);
}

TEST_F(GateMerge, refuses_parts_that_do_not_belong_together) {
  options_.random_runs_max = 0;
  const std::vector<NamedPart> good = parts(3, starts_again);
  std::string told;
  const auto refused = [&](std::vector<NamedPart> made, std::errc code) {
    const auto merged = merge_parts(std::move(made));
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().code, code) << merged.error().subject;
    told += merged.error().subject + '\n';
  };
  const auto changed = [&](const auto& change) {
    std::vector<NamedPart> made = good;
    change(made[1].part);
    return made;
  };
  const auto other = std::errc::invalid_argument;
  refused(changed([](GatePart& part) { part.gate[0].value = "2"; }), other);
  refused(changed([](GatePart& part) { part.gate[1].value = "T9"; }), other);
  refused(changed([](GatePart& part) { part.gate.pop_back(); }), other);
  refused(changed([](GatePart& part) { part.shard = {.number = 2, .all = 4}; }), other);
  refused(changed([](GatePart& part) { part.results.campaign.scenarios.pop_back(); }), other);
  refused(changed([](GatePart& part) { ++part.results.campaign.scenarios[1].plan; }), other);
  refused(changed([](GatePart& part) { ++part.results.small->scenarios[1].plan; }), other);
  refused(changed([](GatePart& part) { part.results.campaign.ambients.emplace_back(); }), other);
  refused(changed([](GatePart& part) { part.results.campaign.probes.pop_back(); }), other);
  refused(changed([](GatePart& part) { ++part.results.campaign.points_declared; }), other);
  refused(changed([](GatePart& part) { part.results.campaign.share = 0.5; }), other);
  refused(changed([](GatePart& part) { part.results.small.reset(); }), other);
  refused({good[0], good[1], good[2], good[1]}, std::errc::file_exists);
  refused({good[0], good[2]}, std::errc::no_such_file_or_directory);
  NamedPart one = good[0];
  one.part.shard = {.number = 7, .all = 1000};
  refused({one}, std::errc::no_such_file_or_directory);
  pretend::expect_transcript(told);
}

TEST_F(GateMerge, refuses_a_file_that_was_cut_anywhere) {
  options_.scenarios.resize(1);
  options_.random_runs_max = 0;
  const std::string text = to_text(part({}, fails_at_times).part);
  for (std::size_t size = 0; size + 1 < text.size(); size += size < 100 ? 1 : 61) {
    const auto read = parse_gate_part(std::string_view(text).substr(0, size));
    ASSERT_FALSE(read) << size;
    ASSERT_EQ(read.error().code, std::errc::bad_message) << size;
    ASSERT_THAT(read.error().subject, HasSubstr("cut")) << size;
  }
}

struct GateChange {
  const char* from;
  const char* to;

  friend void PrintTo(const GateChange& change, std::ostream* out) { *out << change.to; }
};

class ChangedGate : public GateMerge, public testing::WithParamInterface<GateChange> {};

TEST_P(ChangedGate, is_refused) {
  std::string text = to_text(part({}, fails_at_times).part);
  const std::size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos) << text.substr(0, 2000);
  text.replace(at, std::string(GetParam().from).size(), GetParam().to);
  const auto read = parse_gate_part(text);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, std::errc::bad_message);
}

constexpr GateChange gate_changes[] = {
    {R"("title":"lastref gate 1")", R"("title":"lastref gate 2")"},
    {R"("title":"lastref gate 1")", R"("title":17)"},
    {R"("number":1)", R"("number":0)"},
    {R"("number":1)", R"("number":2)"},
    {R"("number":1)", R"("number":-1)"},
    {R"("number":1)", R"("number":281474976710656)"},
    {R"("runs":)", R"("walks":)"},
    {R"("gate":[)", R"("gate":[7,)"},
    {R"("campaign":{)", R"("campaign":[],"c":{)"},
    {R"("plan":)", R"("plan":"x","p":)"},
    {R"("probe_demand":"counted")", R"("probe_demand":"wanted")"},
    {R"("waived":[)", R"("waived":[0,)"},
    {R"("by_role":{)", R"("by_role":{"queen":1,)"},
    {R"("bare_loop_per_second":null)", R"("bare_loop_per_second":"fast")"},
    {R"("all_scenarios":false)", R"("all_scenarios":0)"},
    {R"("aftermaths":[)", R"("aftermaths":["nothing"],"a":[)"},
    {R"("first":[)", R"("first":[],"f":[)"},
    {R"("points_declared":)", R"("points_declared":1,"p":)"},
};
INSTANTIATE_TEST_SUITE_P(Members, ChangedGate, testing::ValuesIn(gate_changes));

}  // namespace
}  // namespace lastref::harness
