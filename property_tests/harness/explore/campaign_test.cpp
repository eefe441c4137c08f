// campaign_test: a campaign over worlds that are functions: what it runs, counts, groups and
// resumes.
#include "harness/explore/campaign.hpp"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/call.hpp>
#include <lastref/probe.hpp>

#include "harness/explore/site_matrix.hpp"
#include "harness/report/text.hpp"
#include "property_tests/harness/explore/fake_world.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::harness {
namespace {

const std::vector<Crossing>& three_points() {
  static const std::vector crossings = {
      crossing_of("now"), crossing_of("find_lock"), crossing_of("now", 2)};
  return crossings;
}
/// "now" has four faults, "find_lock" six.
constexpr std::size_t matrix_size = 4 + 6 + 4;

Outcome all_is_well(const Scenario&, const Plan& plan) {
  return clean_outcome(plan, three_points());
}

const std::string claim = "no-leak: every name created is removed";

/// Every death after a call leaves a file.
Outcome leaks_when_it_fails(const Scenario&, const Plan& plan) {
  Outcome outcome = clean_outcome(plan, three_points());
  for (const Fault& fault : plan.faults) {
    if (fault.kind == FaultKind::kill_after) {
      outcome.findings.push_back({.claim = claim, .seen = "a.bin is still there"});
      outcome.last_crossings = {"root: now()#1"};
      outcome.leftovers = 1;
    }
  }
  return outcome;
}

class CampaignTest : public testing::Test {
 public:
  CampaignTest() {
    std::string path = testing::TempDir() + "campaign_XXXXXX";
    folder_ = ::mkdtemp(path.data());
    options_.scenarios = {&scenarios_[0], &scenarios_[1]};
    options_.all_scenarios = false;
    options_.full = true;
    options_.budget = 1000;
    options_.random_runs_max = 0;
  }
  CampaignTest(const CampaignTest&) = delete;
  CampaignTest& operator=(const CampaignTest&) = delete;
  ~CampaignTest() override { std::filesystem::remove_all(folder_); }

 protected:
  CampaignResults run(const FakeWorld::Run& act, std::size_t worlds = 1) {
    std::vector<std::unique_ptr<FakeWorld>> owned;
    std::vector<World*> all;
    for (std::size_t i = 0; i < worlds; ++i) {
      owned.push_back(std::make_unique<FakeWorld>(act));
      all.push_back(owned.back().get());
    }
    CampaignResults report = run_campaign(all, options_);
    plans_.clear();
    for (const auto& world : owned) {
      plans_.insert(plans_.end(), world->plans.begin(), world->plans.end());
    }
    return report;
  }
  CampaignResults resume(const FakeWorld::Run& act, std::uint64_t build = 1) {
    ProgressFile memory;
    std::string why;
    EXPECT_TRUE(memory.open(path(), build, why)) << why;
    options_.memory = &memory;
    CampaignResults report = run(act);
    options_.memory = nullptr;
    return report;
  }
  std::string path() const { return folder_ / "progress"; }

  const std::vector<Scenario> scenarios_ = {named("family/one"), named("family/two")};
  CampaignOptions options_;
  std::vector<Plan> plans_;
  std::filesystem::path folder_;
};

TEST_F(CampaignTest, executes_every_fault_of_every_scenario_once) {
  const CampaignResults report = run(all_is_well);
  EXPECT_EQ(report.matrix.all, (Count{.total = 2 * matrix_size, .executed = 2 * matrix_size}));
  EXPECT_EQ(report.clean_runs, 4U);  // each twice
  EXPECT_EQ(report.runs, report.clean_runs + report.matrix_runs);
  EXPECT_EQ(exit_of(report), Exit::clean);
  std::multiset<std::string> faults;
  for (const Plan& plan : plans_) {
    for (const Fault& fault : plan.faults) {
      faults.insert(to_text(fault));
    }
  }
  EXPECT_EQ(faults.size(), 2 * matrix_size);
  EXPECT_EQ(faults.count("root/find_lock()#1 fail_once ENOLCK"), 2U);
}

TEST_F(CampaignTest, knows_the_total_before_the_first_fault_strikes) {
  options_.budget = 0;
  const CampaignResults report = run(all_is_well);
  EXPECT_EQ(report.matrix.all, (Count{.total = 2 * matrix_size}));
  EXPECT_EQ(exit_of(report), Exit::incomplete);
}

TEST_F(CampaignTest, stops_when_the_budget_is_spent) {
  double time = 0;
  options_.clock = [&time] { return time; };
  options_.budget = 7;
  const CampaignResults report = run([&](const Scenario& scenario, const Plan& plan) {
    time += plan.faults.empty() ? 0 : 1;
    return all_is_well(scenario, plan);
  });
  EXPECT_EQ(report.matrix.all, (Count{.total = 2 * matrix_size, .executed = 7}));
  EXPECT_EQ(exit_of(report), Exit::incomplete);
}

TEST_F(CampaignTest, goes_on_without_a_budget_until_all_is_done) {
  options_.budget.reset();
  options_.random_runs_max.reset();
  double time = 0;
  options_.clock = [&time] { return time += 1000; };
  const CampaignResults report = run(all_is_well);
  EXPECT_EQ(report.matrix.all, (Count{.total = 2 * matrix_size, .executed = 2 * matrix_size}));
  EXPECT_GE(report.random_runs, random_runs_usual);
  EXPECT_EQ(exit_of(report), Exit::clean);
}

/// A scenario that is too big for the matrix, and takes 100 seconds a run; a run with a fault takes
/// one.
class BigScenario : public CampaignTest {
 protected:
  BigScenario() {
    big_.outside_matrix = "it is big";
    options_.scenarios = {&big_, &scenarios_[0]};
    options_.clock = [this] { return time_; };
  }
  CampaignResults run_slowly() {
    return run([this](const Scenario& scenario, const Plan& plan) {
      time_ += &scenario == &big_ ? 100 : plan.faults.empty() ? 0 : 1;
      return all_is_well(scenario, plan);
    });
  }

  Scenario big_ = named("family/big");
  double time_ = 0;
};

TEST_F(BigScenario, does_not_eat_a_small_budget) {
  options_.budget = 7;
  const CampaignResults report = run_slowly();
  EXPECT_EQ(report.matrix.all.executed, 7U);
  EXPECT_EQ(report.left_out.size(), 1U);
  pretend::expect_transcript(report.left_out);
  EXPECT_EQ(exit_of(report), Exit::incomplete);
}

TEST_F(BigScenario, runs_after_the_matrix_and_once_where_the_budget_is_used_by_half) {
  options_.budget = 200;
  const CampaignResults report = run_slowly();
  EXPECT_EQ(report.matrix.all.executed, matrix_size);
  EXPECT_EQ(report.clean_runs, 3U);
  ASSERT_EQ(report.left_out.size(), 1U);
  EXPECT_THAT(verdict_of(report), testing::HasSubstr(report.left_out.front()));
  pretend::expect_transcript(report.left_out);
}

TEST_F(BigScenario, runs_twice_where_there_is_time) {
  options_.budget = 10'000;
  const CampaignResults report = run_slowly();
  EXPECT_EQ(report.clean_runs, 4U);
  EXPECT_EQ(report.left_out, std::vector<std::string>());
  EXPECT_EQ(exit_of(report), Exit::clean);
}

TEST_F(CampaignTest, ends_when_it_is_interrupted_and_can_be_resumed) {
  ProgressFile memory;
  std::size_t faults = 0;
  options_.memory = &memory;
  options_.is_interrupted = [&faults] { return faults >= 5; };
  const CampaignResults first = run([&](const Scenario& scenario, const Plan& plan) {
    faults += plan.faults.size();
    return all_is_well(scenario, plan);
  });
  EXPECT_TRUE(first.interrupted);
  EXPECT_EQ(first.matrix.all, (Count{.total = 2 * matrix_size, .executed = 5}));
  EXPECT_EQ(exit_of(first), Exit::incomplete);
  pretend::expect_transcript(verdict_of(first));
  // Records that were only in memory so far go into a file, and the next campaign begins after
  // them.
  std::string why;
  ASSERT_TRUE(memory.open(path(), 1, why)) << why;
  memory.flush();
  options_.is_interrupted = [] { return false; };
  EXPECT_EQ(resume(all_is_well).resumed, 5U);
}

TEST_F(CampaignTest, tells_a_violation_before_an_interruption) {
  std::size_t faults = 0;
  options_.is_interrupted = [&faults] { return faults >= 2 * matrix_size; };
  const CampaignResults report = run([&](const Scenario& scenario, const Plan& plan) {
    faults += plan.faults.size();
    return leaks_when_it_fails(scenario, plan);
  });
  EXPECT_TRUE(report.interrupted);
  EXPECT_EQ(exit_of(report), Exit::violation);
}

TEST_F(CampaignTest, says_that_it_was_interrupted_before_there_was_a_total) {
  options_.is_interrupted = [] { return true; };
  const CampaignResults report = run(all_is_well);
  EXPECT_EQ(report.runs, 0U);
  pretend::expect_transcript(verdict_of(report));
}

TEST_F(CampaignTest, runs_each_scenario_in_each_ambient_clean_and_with_kills) {
  const Ambient deaf = {.name = "deaf", .sentence = "It hears nothing."};
  const Ambient blind = {.name = "blind", .sentence = "", .without = "family/two"};
  options_.ambients = {&deaf, &blind};
  const CampaignResults report = run(all_is_well);
  ASSERT_EQ(report.ambients.size(), 2U);
  // Three points have two kills before each, of a process and of the whole tree, and one after.
  const std::size_t runs = 1 + 3 * 3;
  EXPECT_EQ(report.ambients[0].runs, (Count{.total = 2 * runs, .executed = 2 * runs}));
  EXPECT_EQ(report.ambients[1].runs, (Count{.total = runs, .executed = runs}));
  EXPECT_EQ(report.ambient_runs, 3 * runs);
  EXPECT_EQ(exit_of(report), Exit::clean);
  EXPECT_EQ(std::ranges::count(plans_, "blind", &Plan::ambient), static_cast<std::ptrdiff_t>(runs));
}

TEST_F(CampaignTest, draws_scenarios_of_each_ambient_where_a_share_is_wanted) {
  const Ambient deaf = {.name = "deaf", .sentence = "It hears nothing."};
  options_.ambients = {&deaf};
  options_.share = 0.5;
  std::set<std::size_t> totals;
  for (options_.seed = 1; options_.seed <= 20; ++options_.seed) {
    const CampaignResults report = run(all_is_well);
    EXPECT_EQ(report.ambients[0].runs.executed, report.ambients[0].runs.total);
    EXPECT_EQ(report.ambient_runs, report.ambients[0].runs.total);
    totals.insert(report.ambients[0].runs.total);
  }
  const std::size_t runs = 1 + 3 * 3;
  EXPECT_EQ(totals, (std::set<std::size_t>{0, runs, 2 * runs}));
}

TEST_F(CampaignTest, says_how_a_violation_in_an_ambient_is_repeated) {
  const Ambient deaf = {.name = "deaf", .sentence = "It hears nothing."};
  options_.ambients = {&deaf};
  options_.only_ambients = true;
  const CampaignResults report = run([](const Scenario& scenario, const Plan& plan) {
    return plan.ambient.empty() ? all_is_well(scenario, plan) : leaks_when_it_fails(scenario, plan);
  });
  EXPECT_EQ(report.ambients[0].violations, 2 * 3U);
  EXPECT_EQ(report.matrix.all, Count{});
  ASSERT_FALSE(report.groups.empty());
  EXPECT_THAT(report.groups.front().first.front().replay,
              testing::StartsWith("lastref replay family/one --ambient deaf --fault "));
}

TEST_F(CampaignTest, is_incomplete_without_the_ambients) {
  const Ambient deaf = {.name = "deaf", .sentence = "It hears nothing."};
  double time = 0;
  options_.ambients = {&deaf};
  options_.clock = [&time] { return time; };
  options_.budget = 2 * matrix_size;
  const CampaignResults report = run([&](const Scenario& scenario, const Plan& plan) {
    time += plan.faults.empty() ? 0 : 1;
    return all_is_well(scenario, plan);
  });
  EXPECT_EQ(report.matrix.all.executed, 2 * matrix_size);
  EXPECT_EQ(exit_of(report), Exit::incomplete);
  EXPECT_THAT(verdict_of(report), testing::HasSubstr("42 of 42"));
  pretend::expect_transcript(verdict_of(report));
}

TEST_F(CampaignTest, runs_scenarios_outside_of_the_matrix_clean_and_no_more) {
  Scenario outside = named("family/outside");
  outside.outside_matrix = "it is outside";
  options_.scenarios = {&outside};
  options_.random_runs_max = 10;
  const CampaignResults report = run(all_is_well);
  EXPECT_EQ(report.matrix.all, Count{});
  EXPECT_EQ(report.runs, 2U);
}

TEST_F(CampaignTest, groups_violations_and_shows_the_first_three) {
  const CampaignResults report = run(leaks_when_it_fails);
  ASSERT_EQ(report.groups.size(), 2U);
  const ViolationGroup& group = report.groups.front();
  EXPECT_EQ(group.scenario, "family/one");
  EXPECT_EQ(group.claim, claim);
  EXPECT_EQ(group.count, 3U);
  ASSERT_EQ(group.first.size(), 3U);
  EXPECT_TRUE(group.first.front().repeats);
  EXPECT_EQ(group.first.front().seen, "a.bin is still there");
  EXPECT_EQ(report.violations, 6U);
  EXPECT_EQ(exit_of(report), Exit::violation);
}

TEST_F(CampaignTest, shows_violations_that_need_fewer_faults_first) {
  const CampaignResults report = run([](const Scenario& scenario, const Plan& plan) {
    Outcome outcome = leaks_when_it_fails(scenario, plan);
    if (scenario.name == "family/two" && plan.faults.empty()) {
      outcome.findings.push_back({.claim = "it is well without a fault", .seen = "it is not"});
    }
    return outcome;
  });
  ASSERT_EQ(report.groups.size(), 3U);
  EXPECT_EQ(report.groups.front().claim, "it is well without a fault");
  EXPECT_EQ(report.groups.back().scenario, "family/two");
}

TEST_F(CampaignTest, ends_each_violation_with_the_command_that_repeats_it) {
  const CampaignResults report = run(leaks_when_it_fails);
  std::set<std::string> commands;
  for (const Violation& violation : report.groups.front().first) {
    commands.insert(violation.replay);
  }
  EXPECT_EQ(
      commands,
      (std::set<std::string>{"lastref replay family/one --fault 'root/find_lock()#1 kill_after'",
                             "lastref replay family/one --fault 'root/now()#1 kill_after'",
                             "lastref replay family/one --fault 'root/now()#2 kill_after'"}));
}

TEST_F(CampaignTest, shows_the_same_with_any_number_of_worlds) {
  options_.random_runs_max = 200;
  const CampaignResults one = run(leaks_when_it_fails);
  const CampaignResults many = run(leaks_when_it_fails, 7);
  EXPECT_EQ(one.matrix, many.matrix);
  EXPECT_EQ(one.violations, many.violations);
  ASSERT_EQ(one.groups.size(), many.groups.size());
  for (std::size_t i = 0; i < one.groups.size(); ++i) {
    EXPECT_EQ(one.groups[i].count, many.groups[i].count);
    ASSERT_EQ(one.groups[i].first.size(), many.groups[i].first.size());
    for (std::size_t j = 0; j < one.groups[i].first.size(); ++j) {
      EXPECT_EQ(one.groups[i].first[j].replay, many.groups[i].first[j].replay);
    }
  }
}

TEST_F(CampaignTest, says_when_a_violation_does_not_repeat) {
  std::set<std::string> seen;
  const CampaignResults report = run([&](const Scenario& scenario, const Plan& plan) {
    Outcome outcome = leaks_when_it_fails(scenario, plan);
    if (!plan.faults.empty() && !seen.insert(to_text(plan.faults.front())).second) {
      outcome.findings.clear();
    }
    return outcome;
  });
  ASSERT_FALSE(report.groups.empty());
  EXPECT_FALSE(report.groups.front().first.front().repeats);
  EXPECT_EQ(exit_of(report), Exit::not_deterministic);
}

TEST_F(CampaignTest, finds_clean_runs_that_differ) {
  std::uint32_t runs = 0;
  const CampaignResults report = run([&](const Scenario&, const Plan& plan) {
    return clean_outcome(plan, {crossing_of("now"), crossing_of("find_lock", ++runs)});
  });
  ASSERT_EQ(report.differences.size(), 2U);
  EXPECT_EQ(report.differences.front().seen,
            "crossing 2: root/find_lock()#1 = 0, then root/find_lock()#2 = 0");
  EXPECT_EQ(exit_of(report), Exit::not_deterministic);
}

TEST_F(CampaignTest, does_not_count_a_fault_whose_point_was_not_reached) {
  const CampaignResults report = run([](const Scenario& scenario, const Plan& plan) {
    Outcome outcome = all_is_well(scenario, plan);
    if (!plan.faults.empty() && plan.faults.front().kind == FaultKind::kill_after) {
      outcome.faults_fired = 0;
    }
    return outcome;
  });
  EXPECT_EQ(report.matrix.all.executed, 2 * (matrix_size - 3));
  ASSERT_EQ(report.missed.size(), 6U);
  EXPECT_EQ(report.missed.front().fault, "root/find_lock()#1 kill_after");
  EXPECT_EQ(exit_of(report), Exit::incomplete);
}

TEST_F(CampaignTest, misses_points_when_all_scenarios_ran) {
  options_.all_scenarios = true;
  const CampaignResults report = run(all_is_well);
  EXPECT_EQ(report.points_declared, call_rows().size() + step_rows().size());
  EXPECT_EQ(report.points_reached, 2U);
  EXPECT_EQ(report.never_reached.size(), report.points_declared - 2);
  EXPECT_EQ(exit_of(report), Exit::incomplete);
}

TEST_F(CampaignTest, is_clean_when_each_point_was_reached_in_some_run) {
  options_.all_scenarios = true;
  const CampaignResults report = run([](const Scenario&, const Plan& plan) {
    Outcome outcome = clean_outcome(plan, three_points());
    if (!plan.faults.empty()) {  // Some points are reached only after a fault.
      for (const CallRow& row : call_rows()) {
        outcome.crossings.push_back(crossing_of(std::string(row.method)));
      }
      for (const StepRow& row : step_rows()) {
        outcome.crossings.push_back(crossing_of(std::string(row.name)));
      }
    }
    return outcome;
  });
  EXPECT_EQ(report.points_reached, report.points_declared);
  EXPECT_EQ(exit_of(report), Exit::clean);
}

TEST_F(CampaignTest, spends_what_is_left_on_random_orders_and_pairs) {
  options_.random_runs_max = 300;
  options_.seed = 7;
  const CampaignResults report = run(all_is_well);
  EXPECT_EQ(report.random_runs, 300U + 300U / 64U);
  std::set<std::size_t> numbers_of_faults;
  std::size_t orders = 0;
  for (const Plan& plan : plans_) {
    numbers_of_faults.insert(plan.faults.size());
    orders += plan.seed ? 1U : 0U;
  }
  EXPECT_EQ(numbers_of_faults, (std::set<std::size_t>{0, 1, 2}));
  EXPECT_GT(orders, 100U);
}

TEST_F(CampaignTest, draws_the_same_random_runs_for_the_same_seed) {
  options_.random_runs_max = 50;
  const auto drawn = [&](std::uint64_t seed) {
    options_.seed = seed;
    run(all_is_well);
    std::vector<std::optional<std::uint64_t>> seeds;
    for (const Plan& plan : plans_) {
      seeds.push_back(plan.seed);
    }
    return seeds;
  };
  EXPECT_EQ(drawn(3), drawn(3));
  EXPECT_NE(drawn(3), drawn(4));
}

TEST_F(CampaignTest, resumes_where_it_stopped) {
  double time = 0;
  options_.clock = [&time] { return time; };
  options_.budget = 7;
  const auto act = [&](const Scenario& scenario, const Plan& plan) {
    time += plan.faults.empty() ? 0 : 1;
    return all_is_well(scenario, plan);
  };
  EXPECT_EQ(resume(act).matrix.all.executed, 7U);
  options_.budget = 1000;
  const CampaignResults second = resume(act);
  EXPECT_EQ(second.resumed, 7U);
  EXPECT_EQ(second.matrix_runs, 2 * matrix_size - 7);
  EXPECT_EQ(second.matrix.all, (Count{.total = 2 * matrix_size, .executed = 2 * matrix_size}));
  EXPECT_EQ(exit_of(second), Exit::clean);
}

TEST_F(CampaignTest, finds_again_what_it_had_found_before_it_resumed) {
  EXPECT_EQ(resume(leaks_when_it_fails).violations, 6U);
  EXPECT_EQ(resume(leaks_when_it_fails).violations, 6U);
}

TEST_F(CampaignTest, begins_again_for_another_build) {
  resume(all_is_well, 1);
  EXPECT_EQ(resume(all_is_well, 2).resumed, 0U);
  EXPECT_EQ(resume(all_is_well, 2).resumed, 2 * matrix_size);
}

TEST_F(CampaignTest, does_not_read_a_line_that_was_cut) {
  resume(all_is_well);
  const auto size = std::filesystem::file_size(path());
  std::filesystem::resize_file(path(), size - 3);
  EXPECT_EQ(resume(all_is_well).resumed, 2 * matrix_size - 1);
  EXPECT_EQ(resume(all_is_well).resumed, 2 * matrix_size);
}

TEST_F(CampaignTest, says_how_far_it_got) {
  std::size_t last = 0;
  options_.progress = [&](const CampaignProgress& progress) {
    if (progress.phase == CampaignPhase::matrix) {
      EXPECT_EQ(progress.total, 2 * matrix_size);
      last = progress.done;
    }
  };
  run(all_is_well, 3);
  EXPECT_EQ(last, 2 * matrix_size);
}

TEST_F(CampaignTest, makes_as_many_random_runs_as_it_was_told_and_says_so) {
  options_.random_runs_max = 7;
  std::size_t total = 0;
  options_.progress = [&](const CampaignProgress& progress) {
    total = progress.phase == CampaignPhase::random ? progress.total : 0;
  };
  EXPECT_EQ(run(all_is_well).random_runs, 7U);
  EXPECT_EQ(total, 7U);
}

const std::string leads_to_first = "root/find_lock()#1 kill_after";

/// Sees every probe but the first, which is seen only after one fault.
FakeWorld::Run sees_probes(const std::string& fault) {
  return [fault](const Scenario&, const Plan& plan) {
    Outcome outcome = clean_outcome(plan, {crossing_of("now"), crossing_of("find_lock")});
    for (std::size_t at = 0; at < probe_rows().size(); ++at) {
      outcome.probes.set(at);
    }
    outcome.probes.set(0, !plan.faults.empty() && to_text(plan.faults.front()) == fault);
    return outcome;
  };
}

class CampaignProbes : public testing::Test {
 protected:
  CampaignResults run(const FakeWorld::Run& act,
                      std::size_t worlds = 1,
                      ProgressFile* memory = nullptr) {
    std::vector<std::unique_ptr<FakeWorld>> owned;
    std::vector<World*> all;
    for (std::size_t at = 0; at < worlds; ++at) {
      owned.push_back(std::make_unique<FakeWorld>(act));
      all.push_back(owned.back().get());
    }
    return run_campaign(all,
                        {.scenarios = {&scenarios_[0], &scenarios_[1]},
                         .all_scenarios = false,
                         .probes = ProbeDemand::required,
                         .budget = {},
                         .random_runs_max = 0,
                         .memory = memory,
                         .clock = {}});
  }

  const std::vector<Scenario> scenarios_ = {named("family/one"), named("family/two")};
};

TEST_F(CampaignProbes, one_that_was_never_seen_leaves_it_incomplete) {
  const CampaignResults report = run(sees_probes("none"));
  ASSERT_EQ(never_seen(report).size(), 1U);
  EXPECT_EQ(never_seen(report).front()->name, probe_rows().front().name);
  EXPECT_EQ(exit_of(report), Exit::incomplete);
}

TEST_F(CampaignProbes, the_run_that_saw_one_first_is_the_same_with_any_number_of_worlds) {
  for (const std::size_t worlds : {std::size_t{1}, std::size_t{7}}) {
    const CampaignResults report = run(sees_probes(leads_to_first), worlds);
    const ProbeReport& first = report.probes.front();
    EXPECT_EQ(first.runs, 2U) << "once in each scenario";
    EXPECT_EQ(first.replay,
              "lastref replay " + first.scenario + " --fault '" + leads_to_first + "'");
    EXPECT_FALSE(first.by_chance);
    EXPECT_EQ(report.probes.back().scenario, "family/one");
    EXPECT_EQ(report.probes.back().runs, report.runs);
    EXPECT_EQ(exit_of(report), Exit::clean);
  }
}

TEST_F(CampaignProbes, those_of_the_gate_that_it_goes_on_with_are_seen) {
  const std::string path = testing::TempDir() + "campaign_probes_test_progress";
  for (const bool goes_on : {false, true}) {
    ProgressFile memory;
    std::string why;
    ASSERT_TRUE(memory.open(path, 1, why)) << why;
    const CampaignResults report = run(sees_probes(leads_to_first), 1, &memory);
    EXPECT_EQ(report.probes.front().seen_earlier, goes_on);
    EXPECT_EQ(report.probes.front().runs, goes_on ? 0U : 2U);
    EXPECT_EQ(exit_of(report), Exit::clean);
  }
  EXPECT_TRUE(std::filesystem::remove(path));
}

TEST_F(CampaignProbes, two_runs_of_one_plan_that_saw_others_are_a_difference) {
  std::size_t runs = 0;
  const CampaignResults report = run([&](const Scenario&, const Plan& plan) {
    Outcome outcome = clean_outcome(plan, {crossing_of("now")});
    outcome.probes.set(0, ++runs % 2 == 0);
    return outcome;
  });
  ASSERT_FALSE(report.differences.empty());
  EXPECT_THAT(report.differences.front().seen,
              testing::HasSubstr(std::string(probe_rows().front().name)));
  pretend::expect_transcript(report.differences.front().seen);
}

/// Three kills, and a pause.
constexpr std::size_t faults_of_now = 4;
constexpr std::size_t points = 8;

/// Many points with the same call stack of the program.
Outcome comes_one_way(const Scenario&, const Plan& plan) {
  std::vector<Crossing> crossings;
  for (std::uint32_t k = 1; k <= points; ++k) {
    crossings.push_back(crossing_of("now", k));
    crossings.back().callers = 7;
  }
  return clean_outcome(plan, std::move(crossings));
}

class CampaignSites : public testing::Test {
 protected:
  CampaignResults run() {
    FakeWorld world(comes_one_way);
    World* const worlds[] = {&world};
    return run_campaign(worlds, options_);
  }

  const std::vector<Scenario> scenarios_ = {named("family/one"), named("family/two")};
  CampaignOptions options_ = {.scenarios = {&scenarios_[0], &scenarios_[1]},
                              .all_scenarios = false,
                              .budget = {},
                              .random_runs_max = 0,
                              .clock = {}};
};

TEST_F(CampaignSites, one_moment_of_the_program_is_struck_in_a_few_places) {
  const CampaignResults report = run();
  const std::size_t wanted = 3 * cells_for(FaultKind::kill_before) + cells_for(FaultKind::pause);
  EXPECT_EQ(report.matrix.all, (Count{.total = wanted, .executed = wanted}));
  EXPECT_EQ(report.full_matrix, 2 * points * faults_of_now);
  EXPECT_EQ(report.site_matrix, wanted);
  EXPECT_EQ(exit_of(report), Exit::clean);
  EXPECT_THAT(to_text(report_of(report)),
              testing::ContainsRegex(
                  fmt::format(" {} faults, .* {}\n", wanted, 2 * points * faults_of_now)));
}

TEST_F(CampaignSites, all_are_struck_where_all_is_wanted) {
  options_.full = true;
  const CampaignResults report = run();
  EXPECT_EQ(report.matrix.all.executed, report.full_matrix);
  EXPECT_EQ(report.full_matrix, 2 * points * faults_of_now);
  EXPECT_LT(report.site_matrix, report.full_matrix);
}

TEST_F(CampaignSites, an_ambient_gets_few_kills_unless_all_is_wanted) {
  const Ambient deaf = {.name = "deaf", .sentence = "It hears nothing."};
  options_.ambients = {&deaf};
  EXPECT_EQ(run().ambients[0].runs.total, 2U * (1 + 4));
  options_.full = true;
  EXPECT_EQ(run().ambients[0].runs.total, 2U * (1 + 20));
}

}  // namespace

}  // namespace lastref::harness
