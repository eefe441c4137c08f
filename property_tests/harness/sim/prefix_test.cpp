// Runs that continue from a prefix, compared with runs from the start.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/choice/choices.hpp"
#include "harness/explore/jobs.hpp"
#include "harness/explore/site_matrix.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/sim/sim_world.hpp"

namespace lastref::harness {
namespace {

/// Of each kind so many plans, evenly spread.
constexpr std::size_t plans_of_kind = 25;

/// An unusual answer to one question.
void add_deviations(const Outcome& clean, std::vector<Plan>& plans) {
  for (std::size_t each = 0; each < plans_of_kind; ++each) {
    const std::size_t question = each * clean.options.size() / plans_of_kind;
    Plan& plan = plans.emplace_back();
    plan.choices.assign(question + 1, 0);
    plan.choices.back() = clean.options[question] - 1;
  }
}

/// A pause of one actor.
void add_pauses(const Outcome& clean, std::vector<Plan>& plans) {
  const RunEstimate& steps = *clean.estimate;
  for (std::size_t each = 0; each < plans_of_kind; ++each) {
    const ActorSteps& of = steps[each * steps.size() / plans_of_kind];
    plans.emplace_back().switches = {
        {.kind = Switch::Kind::pause, .from = of.actor, .step = static_cast<std::uint32_t>(each)}};
  }
}

/// One fault, or two.
void add_faults(const Outcome& clean, std::vector<Plan>& plans) {
  std::vector<Crossing> all = clean.crossings;
  all.insert(all.end(), clean.allocations.begin(), clean.allocations.end());
  const std::vector<Fault> faults = scenario_matrix_of(std::move(all)).faults;
  constexpr std::size_t count = plans_of_kind * 4;
  for (std::size_t each = 0; each < count; ++each) {
    const std::size_t at = each * faults.size() / count;
    Plan& plan = plans.emplace_back();
    plan.faults = {faults[at]};
    plan.wants_aftermath = each % 2 == 0;
    plan.wants_allocations = plan.wants_aftermath;
    if (each % 5 == 0) {
      plan.faults.push_back(faults[faults.size() - 1 - at]);
    }
  }
}

/// Random schedules, with a fault in every other one.
void add_policies(const Outcome& clean, std::vector<Plan>& plans) {
  const std::vector<Fault> faults = scenario_matrix_of(clean.crossings).faults;
  for (std::size_t each = 0; each < plans_of_kind; ++each) {
    Plan& plan = plans.emplace_back();
    plan.seed = each;
    plan.policy = static_cast<PolicyName>(each % names_of(PolicyName()).size());
    plan.estimate = clean.estimate;
    if (each % 2 == 0) {
      plan.faults = {faults[each * faults.size() / plans_of_kind]};
    }
  }
}

class Prefixes : public testing::TestWithParam<const char*> {};

/// In random order, so that runs from one checkpoint follow those from others.
TEST_P(Prefixes, change_nothing_in_a_run) {
  const Scenario& scenario = *scenario_named(GetParam());
  SimWorld whole({.late_words = true, .arena = true, .shares_prefixes = false});
  SimWorld shared({.late_words = true, .arena = true});
  whole.keep_journal(/*kept=*/true);
  shared.keep_journal(/*kept=*/true);
  Plan usual;
  usual.wants_crossings = true;
  usual.wants_allocations = true;
  usual.wants_estimate = true;
  const Outcome clean = whole.run(scenario, usual);
  std::vector<Plan> plans;
  add_deviations(clean, plans);
  add_pauses(clean, plans);
  add_faults(clean, plans);
  add_policies(clean, plans);
  std::uint64_t chance = 1;
  for (std::size_t left = plans.size(); left > 1; --left) {
    std::swap(plans[left - 1], plans[next_random(chance) % left]);
  }
  for (Plan& plan : plans) {
    plan.wants_estimate = next_random(chance) % 2 == 0;
    const Outcome one = whole.run(scenario, plan);
    const Outcome other = shared.run(scenario, plan);
    std::string what = "choices " + to_text(plan.choices);
    for (const Fault& fault : plan.faults) {
      what += ", " + to_text(fault);
    }
    ASSERT_EQ(whole.journal(), shared.journal()) << what;
    EXPECT_EQ(difference_of(one, other), "") << what;
    EXPECT_EQ(one.findings, other.findings) << what;
    EXPECT_EQ(one.switches, other.switches) << what;
    EXPECT_EQ(one.reached, other.reached) << what;
    EXPECT_EQ(one.allocations, other.allocations) << what;
    EXPECT_EQ(one.conflicts, other.conflicts) << what;
    EXPECT_EQ(whole.steps(), shared.steps()) << what;
    if (plan.wants_estimate) {
      EXPECT_EQ(*one.estimate, *other.estimate) << what;
    }
  }
  EXPECT_GT(shared.continued(), plans.size() / 3);
  EXPECT_EQ(whole.continued(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Scenarios,
                         Prefixes,
                         testing::Values("tracker/tracker_is_killed",
                                         "tracker/two_holders_release_at_once",
                                         "tracker/threads_share_client",
                                         "tracker/torn_ledger_record_is_overwritten",
                                         "caches/two_workers_share_cache",
                                         "caches/durable_put_syncs_first",
                                         "caches/threads_share_cache",
                                         "jobs/twenty_tasks_in_two_workers",
                                         "jobs/worker_death_fails_call",
                                         "jobs/task_throws",
                                         "jobs/call_leaves_no_files_or_workers"),
                         [](const auto& given) {
                           std::string name = given.param;
                           std::ranges::replace(name, '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace lastref::harness
