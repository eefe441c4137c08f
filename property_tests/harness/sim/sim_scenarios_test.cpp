// The catalog's scenarios in the simulated world.
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <iostream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "harness/explore/exhaustive.hpp"
#include "harness/explore/matrix.hpp"
#include "harness/instrument/plan_interceptor.hpp"
#include "harness/journal/record.hpp"
#include "harness/scenario/product_limits.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/sim/sim_world.hpp"

namespace lastref::harness {
namespace {

/// Runs it with these faults. All of them must be injected, and none may be noticed.
Outcome expect_well(const Scenario& scenario, const std::vector<std::string_view>& faults) {
  Plan plan;
  std::string all;
  for (const std::string_view fault : faults) {
    plan.faults.push_back(parse_fault(fault).value());
    all.append(" ").append(fault);
  }
  SimWorld world;
  Outcome outcome = world.run(scenario, plan);
  EXPECT_EQ(outcome.faults_fired, faults.size()) << all;
  EXPECT_TRUE(outcome.findings.empty()) << all << ": " << outcome.findings.front().seen;
  return outcome;
}

testing::AssertionResult holds(const Exhausted& exhausted) {
  if (exhausted.counterexamples.empty()) {
    return testing::AssertionSuccess();
  }
  const Counterexample& first = exhausted.counterexamples.front();
  return testing::AssertionFailure()
         << first.findings.front().claim << ": " << first.findings.front().seen << " with "
         << to_text(first.choices);
}

TEST(SimScenarios, two_clients_release_the_last_reference_in_every_order_next_to_the_usual) {
  const Exhausted exhausted = exhaust(*scenario_named("tracker/two_holders_release_at_once"),
                                      {.deviations = 1, .ask_after = "go"});
  EXPECT_TRUE(holds(exhausted));
  EXPECT_TRUE(exhausted.complete);
  EXPECT_TRUE(exhausted.deterministic);
  EXPECT_GT(exhausted.schedules, 100U);
}

/// A process that can continue does; at each wait, every process that could be next is tried.
TEST(SimScenarios, two_clients_release_the_last_reference_in_every_order_without_preemption) {
  const Exhausted exhausted = exhaust(*scenario_named("tracker/two_holders_release_at_once"),
                                      {.preemptions = 0, .ask_after = "go"});
  EXPECT_TRUE(holds(exhausted));
  EXPECT_TRUE(exhausted.deterministic);
  EXPECT_TRUE(exhausted.complete);
  std::cout << exhausted.schedules << " orders, " << exhausted.steps << " steps\n";
}

TEST(SimScenarios, two_clients_release_the_last_reference_while_one_dies_by_halves) {
  const Fault death = parse_fault("client_a/send(tracker)#3 kill_after").value();
  const Exhausted exhausted =
      exhaust(*scenario_named("tracker/two_holders_release_at_once"),
              {.deviations = 1, .ask_after = "go", .faults = {death}, .split_deaths = true});
  EXPECT_TRUE(holds(exhausted));
  EXPECT_TRUE(exhausted.complete);
}

/// The name has been registered, the answer was lost, and the connection is closed. Between the new
/// announcement and the repeated register, no process seems to hold it.
TEST(SimScenarios, a_name_stays_when_the_answer_to_its_register_is_lost_T6) {
  expect_well(*scenario_named("tracker/forgotten_name_is_registered_again"),
              {"tracker/send(conn:root)#4 fail_once EPIPE", "root/send(tracker)#4 pause"});
}

/// By the root and the tracker, by the root alone, and by the tracker alone.
TEST(SimScenarios, folders_of_a_live_tree_are_locked_in_each_phase_M7) {
  expect_well(*scenario_named("tracker/live_folders_are_locked"), {});
}

/// The next start is a process of the run, and a later start cleans up after it.
TEST(SimScenarios, the_next_start_is_struck_like_any_other_process_M7) {
  const Scenario scenario = *scenario_named("tracker/root_and_tracker_are_killed");
  SimWorld world;
  Plan clean;
  clean.wants_crossings = true;
  int killed = 0;
  for (const Fault& fault : matrix_of(world.run(scenario, clean).crossings)) {
    if (fault.site.role == next_start_role && fault.kind == FaultKind::kill_before) {
      EXPECT_EQ(expect_well(scenario, {to_text(fault)}).leftovers, 0U);
      ++killed;
    }
  }
  EXPECT_GT(killed, 0);
}

/// A process is killed while it holds: in most plans the tracker is asked before any other process
/// runs.
TEST(SimScenarios, the_tracker_is_asked_at_once_after_a_kill_in_most_plans) {
  const Plan clean{.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true};
  SimWorld world;
  world.keep_journal(true);
  int asked = 0;
  int not_asked = 0;
  for (const Fault& fault : matrix_of(
           world.run(*scenario_named("tracker/two_holders_release_at_once"), clean).crossings)) {
    if (fault.kind != FaultKind::kill_before || fault.whole_tree || fault.site.role != "client_a") {
      continue;
    }
    Plan plan = clean;
    plan.faults = {fault};
    world.run(*scenario_named("tracker/two_holders_release_at_once"), plan);
    const std::string journal = world.journal();
    const bool was_asked = journal.find(fact::counted_at_once) != std::string::npos;
    EXPECT_TRUE(looks_at_kills(plan.faults) || !was_asked) << to_text(fault);
    ++(was_asked ? asked : not_asked);
  }
  EXPECT_GT(asked, not_asked);
  EXPECT_GT(not_asked, 0);
}

/// The last calls of a tracker are retried: no other process would make them before the next start.
TEST(SimScenarios, one_call_that_fails_as_a_tree_ends_leaves_nothing_T5) {
  for (const char* fault : {"tracker/unlink(socket)#1 fail_once EBUSY",
                            "tracker/unlink(ledger)#1 fail_once EIO",
                            "tracker/unlink(lock)#1 fail_once EPERM",
                            "tracker/remove_folder(tree)#1 fail_once EBUSY",
                            "tracker/find_lock(lock)#4 fail_once ENOLCK",
                            "tracker/write_at(ledger)#2 fail_always ENOSPC"}) {
    EXPECT_EQ(
        expect_well(*scenario_named("tracker/two_holders_release_at_once"), {fault}).leftovers, 0U)
        << fault;
  }
}

TEST(SimScenarios, nobody_notices_what_is_benign_T1_T2_T3_T6) {
  for (const char* fault : {"root/close(ledger)#1 fail_once EINTR",
                            "client_a/close(lock)#1 fail_once EINTR",
                            "root/connect(socket)#1 fail_once EAGAIN",
                            "client_a/connect(socket)#1 fail_once EAGAIN",
                            "client_b/send(tracker)#3 fail_once EAGAIN"}) {
    EXPECT_EQ(
        expect_well(*scenario_named("tracker/two_holders_release_at_once"), {fault}).standard_error,
        "")
        << fault;
  }
  const Outcome ended = expect_well(*scenario_named("tracker/root_leaves_first"),
                                    {"root/wait_child(process:tracker)#1 fail_once EINTR"});
  EXPECT_EQ(ended.standard_error, "");
}

/// A worker that is killed while it leaves releases nothing, and its tracker reports that.
TEST(SimScenarios, no_space_to_wait_in_for_a_moment_kills_no_worker_that_leaves_B5) {
  const Scenario scenario = *scenario_named("jobs/task_keeps_its_array");
  SimWorld world;
  Plan plan;
  plan.wants_crossings = true;
  const Outcome clean = world.run(scenario, plan);
  ASSERT_EQ(clean.kills, 0U);
  std::size_t polls = 0;
  for (const Fault& fault : matrix_of(clean.crossings)) {
    if (fault.site.role == "root" && fault.site.name == "poll" && fault.error == ENOMEM &&
        fault.kind == FaultKind::fail_once) {
      ++polls;
      plan.faults = {fault};
      EXPECT_EQ(world.run(scenario, plan).kills, 0U) << to_text(fault);
    }
  }
  EXPECT_GT(polls, 10U);
}

/// The number of orders in which all faults were injected. Each run must succeed, and leave
/// nothing.
std::size_t times_struck(const Scenario& scenario, std::initializer_list<const char*> faults) {
  Plan plan;
  for (const char* fault : faults) {
    plan.faults.push_back(parse_fault(fault).value());
  }
  SimWorld world;
  std::size_t struck = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    plan.seed = seed;
    const Outcome outcome = world.run(scenario, plan);
    EXPECT_TRUE(outcome.findings.empty()) << seed << ": " << outcome.findings.front().seen;
    EXPECT_EQ(outcome.standard_error.find("left to the next start"), std::string::npos) << seed;
    struck += outcome.faults_fired == plan.faults.size() ? 1U : 0U;
  }
  return struck;
}

/// Nothing has tried to remove it before the end of the tree.
TEST(SimScenarios, what_could_not_be_forgotten_is_removed_at_the_second_try_as_well_T7) {
  for (const char* written : {"tracker/write_at(ledger)#4 fail_once ENOSPC",
                              "tracker/write_at(ledger)#6 fail_once ENOSPC"}) {
    EXPECT_GT(times_struck(*scenario_named("tracker/name_is_reused_during_cleanup"),
                           {written, "tracker/remove_folder(first)#1 fail_once EACCES"}),
              50U)
        << written;
  }
}

/// Whether the limit of the process or that of the system is reached.
TEST(SimScenarios, a_client_without_a_descriptor_to_connect_with_says_so_T6) {
  for (const char* error : {"EMFILE", "ENFILE"}) {
    const std::string fault = std::string("client_b/make_socket()#2 fail_always ") + error;
    SimWorld world;
    world.keep_journal(true);
    const Plan plan{.faults = {parse_fault(fault).value()}, .choices = {}, .seed = {}};
    const Outcome outcome = world.run(*scenario_named("tracker/tracker_is_killed"), plan);
    EXPECT_EQ(outcome.faults_fired, 1U) << fault;
    EXPECT_NE(world.journal().find(std::string("file:/dev/shm/world/files/first.bin = ") + error),
              std::string::npos)
        << world.journal();
  }
}

/// The tracker may have to tell all members that a name was forgotten before the name is registered
/// again. A process that has lost each of its connections leaves the tree, even while another of
/// its threads cannot make a cache.
TEST(SimScenarios, no_register_waits_for_a_member_that_gave_up_T6) {
  expect_well(*scenario_named("jobs/tracker_of_job_is_killed"),
              {"worker_2/peer_of(tracker)#2 fail_always ENOTCONN",
               "root/make_folder(arrays:call2)#1 fail_once EEXIST"});
  expect_well(*scenario_named("caches/make_without_inodes"),
              {"root/send(tracker)#3 fail_always EPIPE"});
}

/// A root that makes its socket again ends the connections at the old one, of which each may fail.
TEST(SimScenarios, a_socket_that_accepts_nothing_does_not_delay_the_end_of_its_tree_T6) {
  expect_well(*scenario_named("tracker/tree_ends_without_socket"),
              {"root/make_socket()#3 fail_always EMFILE",
               "root/accept(socket)#2 fail_always ECONNABORTED"});
}

/// A client that cannot wake its own thread any more reports the cause.
TEST(SimScenarios, a_client_that_cannot_use_its_own_pipe_says_why_T3) {
  SimWorld world;
  world.keep_journal(true);
  const Plan plan{.faults = {parse_fault("root/write(pipe.write)#2 fail_once EIO").value()},
                  .choices = {},
                  .seed = {}};
  const Outcome outcome = world.run(*scenario_named("tracker/tracker_is_killed"), plan);
  EXPECT_EQ(outcome.faults_fired, 1U);
  EXPECT_NE(world.journal().find("root register file:/dev/shm/world/files/second.bin = EIO"),
            std::string::npos)
      << world.journal();
  EXPECT_TRUE(outcome.findings.empty()) << outcome.findings.front().seen;
}

/// The thread that receives the forget is late, and so is the one that waits for another tracker.
TEST(SimScenarios, a_name_that_is_held_anew_stays_however_late_its_holder_hears_T3_T6) {
  for (const char* fault : {"client_a/poll()#2 pause", "client_a/find_lock(lock)#1 pause"}) {
    expect_well(*scenario_named("tracker/forgotten_name_is_held_again"), {fault});
  }
  // A restarted tracker must forget the name before the holder has announced.
  expect_well(*scenario_named("tracker/forgotten_name_is_held_again"),
              {"tracker/poll()#4 kill_blocked", "client_a/shut_down(tracker)#1 pause"});
}

/// A release that could not be sent at once is sent before its process leaves.
TEST(SimScenarios, who_leaves_says_what_it_has_to_say_T3) {
  constexpr std::string_view full = "client_a/send(tracker)#4 fail_once EAGAIN";
  for (const char* then :
       {"client_a/send(tracker)#5 fail_once EAGAIN", "client_a/poll()#5 fail_once EINTR"}) {
    EXPECT_EQ(expect_well(*scenario_named("tracker/release_races_with_register"), {full, then})
                  .standard_error,
              "")
        << then;
  }
}

TEST(SimScenarios, a_release_fails_that_nobody_will_say_T3) {
  expect_well(*scenario_named("tracker/relative_name_is_made_absolute"),
              {"root/send(tracker)#4 fail_once EAGAIN", "root/write(pipe.write)#1 fail_once EIO"});
}

/// Otherwise they would never see the end of a pause of another process.
TEST(SimScenarios, time_passes_for_processes_whose_pauses_fail) {
  expect_well(
      *scenario_named("caches/keyed_value_is_computed_once"),
      {"root/lock_range(index)#4 fail_once EAGAIN", "worker_2/poll()#1 fail_always ENOMEM"});
}

/// It closes its connection; no later operation needs one.
TEST(SimScenarios, a_client_that_cannot_be_woken_fails_no_operation_on_a_cache_T3) {
  expect_well(*scenario_named("caches/cache_maker_is_killed"),
              {"root/send(tracker)#2 fail_once EAGAIN", "root/read(pipe.read)#1 fail_always EIO"});
}

/// A name that could not be cleaned up cannot be registered again; it is cleaned up in the end.
TEST(SimScenarios, a_refused_register_leaves_a_clean_up_as_it_was_T5) {
  expect_well(*scenario_named("arrays/same_array_in_two_calls"),
              {"tracker/remove_folder(arrays:call)#1 fail_always EBUSY",
               "tracker/write_at(ledger)#13 fail_once EIO"});
}

TEST(SimScenarios, what_comes_after_a_fault_has_callers_and_nothing_else_has) {
  SimWorld world;
  Plan plan{
      .faults = {parse_fault("tracker/poll()#4 kill_before").value()}, .choices = {}, .seed = {}};
  EXPECT_TRUE(world.run(*scenario_named("tracker/tracker_is_killed"), plan).crossings.empty());
  plan.wants_aftermath = true;
  const Outcome outcome = world.run(*scenario_named("tracker/tracker_is_killed"), plan);
  ASSERT_EQ(outcome.faults_fired, 1U);
  bool was_replaced = false;
  for (const Crossing& crossing : outcome.crossings) {
    EXPECT_NE(crossing.callers, 0U) << to_text(crossing);
    EXPECT_NE(crossing.site.name, "make_folder") << "that was before";
    was_replaced = was_replaced || crossing.site.role == "tracker#2";
  }
  EXPECT_TRUE(was_replaced);
}

TEST(SimScenarios, two_enumerations_of_a_clean_run_are_the_same) {
  for (const Scenario& scenario : {*scenario_named("tracker/two_holders_release_at_once"),
                                   *scenario_named("tracker/tracker_is_killed")}) {
    const Plan plan{.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true};
    SimWorld world({.arena = true});
    const Outcome first = world.run(scenario, plan);   // on the heap
    const Outcome second = world.run(scenario, plan);  // in the arena
    EXPECT_EQ(first.crossings, second.crossings);
    EXPECT_EQ(first.choices, second.choices);
    EXPECT_EQ(first.standard_error, second.standard_error);
  }
}

bool is_word(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char sign) {
    return std::isalnum(sign) != 0 || sign == '_' || sign == '-';
  });
}

TEST(ParametersOfScenarios, have_several_values_and_the_usual_one_is_one_of_them) {
  for (const Scenario& scenario : catalog()) {
    std::set<std::string> names;
    for (const DeclaredParameter& each : scenario.parameters) {
      const std::string what = scenario.name + ' ' + each.name;
      EXPECT_TRUE(is_word(each.name)) << what;
      EXPECT_TRUE(names.insert(each.name).second) << what;
      EXPECT_TRUE(each.may_be(each.usual)) << what;
      if (each.form != nullptr) {
        continue;
      }
      EXPECT_GT(each.values.size(), 1U) << what;
      for (const auto& value : each.values) {
        EXPECT_TRUE(is_word(value.text)) << what << '=' << value.text;
      }
    }
  }
}

/// All values, or some texts.
std::vector<std::string> values_to_try(const DeclaredParameter& parameter) {
  std::vector<std::string> values;
  for (const auto& value : parameter.values) {
    values.push_back(value.text);
  }
  constexpr std::uint64_t texts = 20;
  for (std::uint64_t seed = 1; parameter.form != nullptr && seed <= texts; ++seed) {
    values.push_back(parameter.form->draw(seed));
  }
  return values;
}

TEST(ParametersOfScenarios, that_are_texts_are_drawn_and_shrunk_within_their_form) {
  constexpr std::uint64_t seeds = 200;
  std::size_t forms = 0;
  for (const Scenario& scenario : catalog()) {
    for (const DeclaredParameter& each : scenario.parameters) {
      forms += each.form == nullptr ? 0U : 1U;
      for (std::uint64_t seed = 1; each.form != nullptr && seed <= seeds; ++seed) {
        const std::string drawn = each.form->draw(seed);
        EXPECT_EQ(drawn, each.form->draw(seed));
        EXPECT_TRUE(each.may_be(drawn)) << drawn;
        for (const std::string& smaller : each.form->smaller(drawn)) {
          EXPECT_TRUE(each.may_be(smaller)) << smaller;
          EXPECT_NE(smaller, drawn);
          EXPECT_LE(std::ranges::count(smaller, ','), std::ranges::count(drawn, ','));
        }
      }
    }
  }
  EXPECT_GT(forms, 0U);
}

/// The body reads only what is declared (Stage::value asserts it), and what is declared has an
/// effect: so what is declared is what is used. A journal has no sizes, so not every value of a
/// size has one of its own.
TEST(ParametersOfScenarios, change_what_a_scenario_does_and_all_values_are_clean) {
  std::size_t scenarios = 0;
  for (const Scenario& scenario : catalog()) {
    scenarios += scenario.parameters.empty() ? 0U : 1U;
    for (const DeclaredParameter& each : scenario.parameters) {
      const bool is_limits = each.name == limits_parameter;
      if (is_limits && (scenario.kernel_only || !scenario.in_gate)) {
        continue;
      }
      ASSERT_FALSE(scenario.kernel_only) << scenario.name;
      std::set<std::string> journals;
      for (const std::string& value : values_to_try(each)) {
        const std::string what = scenario.name + " --set " + each.name + '=' + value;
        Plan plan;
        plan.parameters = unusual(scenario.parameters, {{.name = each.name, .value = value}});
        SimWorld world;
        world.keep_journal(true);
        const Outcome outcome = world.run(scenario, plan);
        for (const Finding& finding : outcome.findings) {
          ADD_FAILURE() << what << ": " << finding.claim << ": " << finding.seen;
        }
        journals.insert(world.journal());
      }
      // Some scenarios reach no limit.
      EXPECT_TRUE(is_limits || journals.size() > 1U) << scenario.name << ' ' << each.name;
    }
  }
  EXPECT_GE(scenarios, 25U);
}

/// A hunt takes the others in turn: one that takes much longer would take most of its time. Some
/// are long because of bytes, not of steps.
TEST(SimScenarios, say_that_they_are_long) {
  constexpr std::uint64_t steps_max = 5000;
  for (const Scenario& scenario : catalog()) {
    if (scenario.kernel_only || !scenario.in_gate || scenario.is_long) {
      continue;
    }
    SimWorld world;
    Plan plan;
    plan.wants_estimate = true;
    const Outcome outcome = world.run(scenario, plan);
    std::uint64_t steps = 0;
    for (const ActorSteps& each : *outcome.estimate) {
      steps += each.steps;
    }
    EXPECT_LE(steps, steps_max) << scenario.name;
  }
}

}  // namespace

}  // namespace lastref::harness
