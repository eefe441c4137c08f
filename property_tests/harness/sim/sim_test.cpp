// The simulated computer: its scheduler, its deaths, its faults, and that its answers determine a
// run.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/owners.hpp>
#include <lastref/tracker.hpp>

#include "harness/explore/exhaustive.hpp"
#include "harness/sim/sim_process.hpp"
#include "harness/sim/sim_world.hpp"

namespace lastref::harness {
namespace {

using sim::Computer;
using sim::Scheduler;

/// What a role stores in a file, as one digit.
int digit_in(os::Os& os, const std::string& path) {
  auto file = os::open_file(os, path, {});
  std::array<std::byte, 1> digit{};
  return file && os.read(file->get(), digit) ? static_cast<int>(digit[0]) - '0' : -1;
}

void keep(os::Os& os, const std::string& path, int digit, bool create) {
  auto file = os::open_file(os, path, {.write = true, .create = create});
  const std::array bytes = {static_cast<std::byte>('0' + digit)};
  ASSERT_TRUE(file);
  ASSERT_TRUE(os::write_all_at(os, file->get(), bytes, 0));
}

Status count_up(Stage& stage) {
  const std::string path = stage.folder() + "/count";
  stage.await("go");
  keep(stage.os(), path, digit_in(stage.os(), path) + 1, false);
  stage.tell(stage.role() + " is done");
  return ok();
}

/// Two roles add one to a number in a file without a lock.
Scenario lost_update() {
  return {.name = "toy/lost_update",
          .sentence = "Both additions count. (They do not always.)",
          .rows = {},
          .roles = {{"root",
                     [](Stage& stage) -> Status {
                       const std::string path = stage.folder() + "/count";
                       keep(stage.os(), path, 0, true);
                       LASTREF_CHECK(stage.start("one"));
                       LASTREF_CHECK(stage.start("other"));
                       stage.tell("go");
                       stage.await("one is done");
                       stage.await("other is done");
                       if (digit_in(stage.os(), path) != 2) {
                         stage.refute("toy: both additions count", "one was lost");
                       }
                       return stage.os().unlink(path);
                     }},
                    {"one", count_up},
                    {"other", count_up}}};
}

bool found_lost_update(const Exhausted& exhausted) {
  return std::any_of(exhausted.counterexamples.begin(),
                     exhausted.counterexamples.end(),
                     [](const auto& each) { return each.findings.front().seen == "one was lost"; });
}

TEST(Exhaustive, finds_a_lost_update_with_one_preemption_and_not_with_none) {
  const Exhausted none = exhaust(lost_update(), {.preemptions = 0, .ask_after = "go"});
  EXPECT_TRUE(none.complete);
  EXPECT_TRUE(none.deterministic);
  EXPECT_EQ(none.violations, 0U);
  const Exhausted one = exhaust(lost_update(), {.preemptions = 1, .ask_after = "go"});
  EXPECT_TRUE(one.complete);
  EXPECT_TRUE(one.deterministic);
  EXPECT_TRUE(found_lost_update(one));
  EXPECT_GT(one.schedules, none.schedules);
}

TEST(Exhaustive, gives_answers_that_find_the_same_again) {
  const Exhausted found =
      exhaust(lost_update(), {.preemptions = 1, .ask_after = "go", .stop_at_first = true});
  ASSERT_EQ(found.counterexamples.size(), 1U);
  SimWorld world;
  const Outcome again = world.run(lost_update(),
                                  {.faults = {},
                                   .choices = found.counterexamples.front().choices,
                                   .seed = {},
                                   .wants_crossings = false});
  EXPECT_EQ(again.findings, found.counterexamples.front().findings);
}

TEST(Exhaustive, finds_the_same_in_an_arena_and_on_the_heap) {
  const Exhausted arena =
      exhaust(lost_update(), {.preemptions = 1, .ask_after = "go", .reduces = false});
  const Exhausted heap = exhaust(
      lost_update(), {.preemptions = 1, .ask_after = "go", .arena = false, .reduces = false});
  EXPECT_EQ(arena.schedules, heap.schedules);
  EXPECT_EQ(arena.violations, heap.violations);
}

TEST(Exhaustive, tries_all_single_deviations) {
  std::uint64_t runs = 0;
  const Exhausted found = deviate(lost_update(), {}, [&](Outcome&) { return ++runs > 0; });
  EXPECT_TRUE(found.complete);
  EXPECT_TRUE(found_lost_update(found));
  EXPECT_GT(found.planned, 5U);
  EXPECT_EQ(found.schedules, found.planned + 1);
  EXPECT_EQ(found.schedules, runs);
  EXPECT_FALSE(deviate(lost_update(), {.runs_max = 3}).complete);
}

TEST(Exhaustive, follows_policies_in_turn) {
  const std::array policies = {PolicyName::pos, PolicyName::pct};
  const ExhaustiveOptions options{.runs_max = 200};
  const Exhausted one = sample(lost_update(), options, policies, 1);
  EXPECT_EQ(one.schedules, 200U);
  EXPECT_TRUE(found_lost_update(one));
  EXPECT_EQ(sample(lost_update(), options, policies, 1).steps, one.steps);
  EXPECT_NE(sample(lost_update(), options, policies, 2).steps, one.steps);
}

Plan seeded(std::uint64_t seed) {
  return {.faults = {}, .choices = {}, .seed = seed, .wants_crossings = true};
}

TEST(SimWorld, repeats_a_run_byte_for_byte) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimWorld world;
    world.keep_journal(true);
    const Outcome first = world.run(lost_update(), seeded(seed));
    const std::string journal = world.journal();
    world.run(lost_update(), seeded(seed));
    EXPECT_EQ(world.journal(), journal);
    // The answers alone determine the run.
    world.run(lost_update(),
              {.faults = {}, .choices = first.choices, .seed = {}, .wants_crossings = false});
    EXPECT_EQ(world.journal(), journal);
  }
}

Plan failing(const std::string& text) {
  return {
      .faults = {parse_fault(text).value()}, .choices = {}, .seed = {}, .wants_crossings = true};
}

/// Sends a message when it is destroyed.
struct LastWords {
  explicit LastWords(Stage& stage) : stage_(stage) {}
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
  ~LastWords() { stage_.refute("toy: destructors run", "one ran"); }

 private:
  Stage& stage_;
};

Scenario alone(Body body) {
  return {.name = "toy/alone", .sentence = "", .rows = {}, .roles = {{"root", std::move(body)}}};
}

bool has_finding(const Outcome& outcome, std::string_view claim) {
  return std::any_of(outcome.findings.begin(), outcome.findings.end(), [&](const Finding& each) {
    return each.claim.starts_with(claim);
  });
}

TEST(SimWorld, a_killed_process_runs_no_destructor_and_no_further_step) {
  const Scenario scenario = alone([](Stage& stage) {
    const LastWords words(stage);
    static_cast<void>(stage.os().make_folder(stage.folder() + "/there", 0700));
    static_cast<void>(stage.os().remove_folder(stage.folder() + "/there"));
    return ok();
  });
  SimWorld world;
  EXPECT_TRUE(has_finding(world.run(scenario, {}), "toy"));
  const Outcome before = world.run(scenario, failing("root/make_folder(there)#1 kill_before"));
  EXPECT_FALSE(has_finding(before, "toy"));
  EXPECT_EQ(before.kills, 1U);
  EXPECT_EQ(before.leftovers, 0U);
  const Outcome after = world.run(scenario, failing("root/make_folder(there)#1 kill_after"));
  EXPECT_FALSE(has_finding(after, "toy"));
  EXPECT_EQ(after.leftovers, 1U);
}

TEST(SimWorld, kills_in_a_call_that_waits) {
  const Scenario scenario = alone([](Stage& stage) {
    const auto ends = stage.os().make_pipe();
    std::array items = {os::PollItem{.fd = ends->read, .want_read = true}};
    static_cast<void>(stage.os().poll(items, std::chrono::hours(1)));
    stage.refute("toy: no process gets here", "it did");
    return ok();
  });
  SimWorld world;
  const Outcome outcome = world.run(scenario, failing("root/poll()#1 kill_blocked"));
  EXPECT_EQ(outcome.faults_fired, 1U);
  EXPECT_EQ(outcome.kills, 1U);
  EXPECT_FALSE(has_finding(outcome, "toy"));
}

TEST(SimWorld, injects_errors_once_and_always_and_shortens) {
  const Scenario scenario = alone([](Stage& stage) {
    os::Os& os = stage.os();
    const std::string path = stage.folder() + "/file";
    std::string seen;
    auto file = os::open_file(os, path, {.write = true, .create = true});
    for (int time = 0; time < 2; ++time) {
      const auto size = os.write(file->get(), os::bytes_of("abcdef"));
      seen += size ? std::to_string(*size) : "-";
    }
    file->close_quietly();
    static_cast<void>(os.unlink(path));
    stage.refute("toy: seen", seen);
    return ok();
  });
  const auto seen = [&](const Plan& plan) {
    SimWorld world;
    for (const Finding& finding : world.run(scenario, plan).findings) {
      if (finding.claim == "toy: seen") {
        return finding.seen;
      }
    }
    return std::string();
  };
  EXPECT_EQ(seen({}), "66");
  EXPECT_EQ(seen(failing("root/write(file)#1 fail_once ENOSPC")), "-6");
  EXPECT_EQ(seen(failing("root/write(file)#1 fail_always ENOSPC")), "--");
  EXPECT_EQ(seen(failing("root/write(file)#2 shorten")), "63");
}

TEST(SimWorld, a_limit_that_may_end_early_doubles_the_orders_where_that_is_tried) {
  const Scenario scenario = alone([](Stage& stage) {
    const auto ends = stage.os().make_pipe();
    std::array items = {os::PollItem{.fd = ends->read, .want_read = true}};
    for (int wait = 0; wait < 3; ++wait) {
      static_cast<void>(stage.os().poll(items, std::chrono::hours(1)));
    }
    static_cast<void>(stage.os().close(ends->read));
    static_cast<void>(stage.os().close(ends->write));
    return ok();
  });
  const auto orders = [&](bool tries) {
    SimWorld world({.tries_early_timeouts = tries});
    ExhaustiveChoices choices;
    std::size_t runs = 0;
    do {
      EXPECT_TRUE(world.run(scenario, {}, choices).findings.empty());
      ++runs;
    } while (choices.advance());
    EXPECT_TRUE(choices.deterministic());
    return runs;
  };
  EXPECT_EQ(orders(false), 1U);
  EXPECT_EQ(orders(true), 8U);
}

TEST(SimWorld, an_interrupt_kills_whoever_minds_it_and_changes_nothing_for_others_T1) {
  const Scenario scenario = alone([](Stage& stage) {
    for (const os::Signal signal : tracker::ignored_signals) {
      static_cast<void>(stage.os().ignore_signal(signal));
    }
    static_cast<void>(stage.os().now());
    return ok();
  });
  SimWorld world;
  for (const std::string signal : {"interrupt", "terminate", "hang_up", "quit"}) {
    EXPECT_TRUE(
        has_finding(world.run(scenario, failing("root/ignore_signal(" + signal + ")#1 interrupt")),
                    "no-crash"));
  }
  const Outcome outcome = world.run(scenario, failing("root/now()#1 interrupt"));
  EXPECT_EQ(outcome.faults_fired, 1U);
  EXPECT_TRUE(outcome.findings.empty());
}

TEST(SimWorld, calls_a_wait_without_end_a_hang) {
  const Scenario scenario = alone([](Stage& stage) {
    const auto ends = stage.os().make_pipe();
    std::array items = {os::PollItem{.fd = ends->read, .want_read = true}};
    static_cast<void>(stage.os().poll(items, std::nullopt));
    return ok();
  });
  SimWorld world;
  const Outcome outcome = world.run(scenario, {});
  ASSERT_TRUE(has_finding(outcome, "no-hang"));
}

TEST(SimWorld, calls_a_loop_without_end_a_hang) {
  const Scenario scenario = alone([](Stage& stage) {
    while (stage.os().process_id() != 0) {
    }
    return ok();
  });
  SimWorld world;
  EXPECT_TRUE(has_finding(world.run(scenario, {}), "no-hang"));
}

TEST(SimWorld, an_awaited_word_that_nobody_will_say_is_false) {
  const Scenario scenario = alone([](Stage& stage) {
    if (stage.await("never")) {
      stage.refute("toy: no process sends it", "one did");
    }
    return ok();
  });
  SimWorld world;
  EXPECT_TRUE(world.run(scenario, {}).findings.empty());
}

TEST(SimOs, time_passes_only_when_everybody_waits) {
  ListedChoices choices({});
  Computer computer(choices);
  bool late = false;
  const auto rest = computer.run_process({}, [&](os::Os& os) {
    const os::Instant before = os.now();
    const auto ends = os.make_pipe();
    std::array items = {os::PollItem{.fd = ends->read, .want_read = true}};
    const auto ready = os.poll(items, std::chrono::hours(1));
    const os::Instant passed = os.now() - before;
    const auto of_looks = std::chrono::milliseconds(1);  // Each reading of the clock advances it.
    late = ready && *ready == 0 && passed >= std::chrono::hours(1) &&
           passed < std::chrono::hours(1) + of_looks;
  });
  EXPECT_EQ(rest, Scheduler::Rest::ended);
  EXPECT_TRUE(late);
}

/// What a process sees of another that dies: the end of its pipe first, then its own.
std::set<std::string> views_of_a_death(bool split) {
  std::set<std::string> views;
  ExhaustiveChoices choices;
  do {
    choices.begin();
    Computer computer(choices);
    computer.scheduler().split_deaths = split;
    const sim::Entries entries = {
        {"child", [](os::Os&, std::span<const std::string>) { return 0; }}};
    computer.run_process(entries, [&](os::Os& os) {
      const auto ends = os.make_pipe();
      const auto child = os.spawn({.entry = "child",
                                   .arguments = {},
                                   .fds = {{.here = ends->write, .number_there = 3}},
                                   .blocked = {}});
      static_cast<void>(os.close(ends->write));
      std::array items = {os::PollItem{.fd = ends->read, .want_read = true},
                          os::PollItem{.fd = child->process, .want_read = true}};
      static_cast<void>(os.poll(items, std::nullopt));
      std::string view = items[0].hung_up ? "over" : "open";
      view += items[1].readable ? " dead" : " alive";
      views.insert(view);
      static_cast<void>(os.close(ends->read));
    });
  } while (choices.advance());
  return views;
}

TEST(SimOs, a_death_is_seen_whole_or_by_halves) {
  EXPECT_EQ(views_of_a_death(false), (std::set<std::string>{"over dead"}));
  EXPECT_EQ(views_of_a_death(true), (std::set<std::string>{"over alive", "over dead"}));
}

TEST(SimOs, two_threads_that_take_two_monitors_crosswise_deadlock_in_some_order) {
  std::set<Scheduler::Rest> rests;
  ExhaustiveChoices choices;
  do {
    choices.begin();
    Computer computer(choices);
    rests.insert(computer.run_process({}, [](os::Os& os) {
      const auto one = os.make_monitor();
      const auto other = os.make_monitor();
      const auto take = [](os::Monitor& first, os::Monitor& second) {
        const os::MonitorLock outer(first);
        const os::MonitorLock inner(second);
      };
      auto thread = os.start_thread([&] { take(*other, *one); });
      take(*one, *other);
      (*thread)->join();
    }));
  } while (choices.advance());
  EXPECT_EQ(rests, (std::set{Scheduler::Rest::ended, Scheduler::Rest::stuck}));
}

}  // namespace
}  // namespace lastref::harness
