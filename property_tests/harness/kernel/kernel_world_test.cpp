// kernel_world_test: toy scenarios on real processes; the guarantees of the world to the layers
// above it.
#include "harness/kernel/kernel_world.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/owners.hpp>
#include <lastref/probe.hpp>
#include <lastref/tracker.hpp>

#include "property_tests/support/printing.hpp"

namespace lastref::harness {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// Waits until the descriptor is readable, or its other end is closed.
void wait_readable(os::Os& os, os::Fd fd) {
  os::PollItem item{.fd = fd, .want_read = true};
  static_cast<void>(os.poll(std::span(&item, 1), std::nullopt));
}

/// "tracker": echoes one message of one connection, then ends. Its listener is descriptor 3.
int echo_once(os::Os& os, std::span<const std::string> /*arguments*/) {
  const os::UniqueFd listener(os, os::Fd{3});
  wait_readable(os, listener.get());
  const auto accepted = os.accept(listener.get());
  if (!accepted) {
    return 2;
  }
  const os::UniqueFd connection(os, *accepted);
  wait_readable(os, connection.get());
  std::array<std::byte, 16> bytes{};
  const auto received = os.receive(connection.get(), bytes);
  if (received) {
    static_cast<void>(os.send(connection.get(), std::span(bytes).first(received->size), {}));
  }
  return 0;
}

/// Connects to the echo and sends one message; returns the size of the answer.
Result<std::size_t> ask_echo(Stage& stage) {
  os::Os& os = stage.os();
  LASTREF_TRY(made, os.make_socket());
  const os::UniqueFd socket(os, made);
  LASTREF_CHECK(os.connect(socket.get(), stage.folder() + "/socket"));
  LASTREF_CHECK(os.send(socket.get(), os::bytes_of("hello"), {}));
  std::array<std::byte, 16> bytes{};
  wait_readable(os, socket.get());
  LASTREF_TRY(received, os.receive(socket.get(), bytes));
  return received.size;
}

/// Starts the echo and a client of it, and waits until both have ended.
Status echo_root(Stage& stage) {
  os::Os& os = stage.os();
  const std::string path = stage.folder() + "/socket";
  LASTREF_TRY(made, os.make_socket());
  const os::UniqueFd listener(os, made);
  if (!os.bind(listener.get(), path) || !os.listen(listener.get())) {
    return os.unlink(path);
  }
  const auto echo = os.spawn({.entry = "tracker",
                              .arguments = {},
                              .fds = {{.here = listener.get(), .number_there = 3}},
                              .blocked = {},
                              .end_wanted = false});
  const Status started = stage.start("client");
  if (echo) {
    const os::UniqueFd process(os, echo->process);
    stage.await("answered");
    wait_readable(os, process.get());
  }
  return first_failure({started, os.unlink(path)});
}

Status echo_client(Stage& stage) {
  LASTREF_TRY(size, ask_echo(stage));
  if (size > 0) {
    stage.tell("answered");
  }
  return ok();
}

Status threads_root(Stage& stage) {
  os::Os& os = stage.os();
  const auto monitor = os.make_monitor();
  const auto pipe = os.make_pipe();
  bool seen = false;
  auto thread = os.start_thread([&] {
    wait_readable(os, pipe->read);
    const os::MonitorLock held(*monitor);
    seen = true;
    monitor->notify_all();
  });
  static_cast<void>(os.write(pipe->write, os::bytes_of("x")));
  {
    const os::MonitorLock held(*monitor);
    while (!seen) {
      monitor->wait();
    }
  }
  (*thread)->join();
  return first_failure({os.close(pipe->read), os.close(pipe->write)});
}

Status patient_root(Stage& stage) {
  const os::Instant before = stage.os().now();
  static_cast<void>(stage.os().poll({}, std::chrono::hours(1)));
  const os::Instant waited = stage.os().now() - before;
  if (waited < std::chrono::hours(1) || waited > std::chrono::minutes(61)) {
    stage.refute("the clock of a run goes by what is waited for", std::to_string(waited.count()));
  }
  return ok();
}

/// Two writers of one file: the plan decides which is first.
Status racer(Stage& stage) {
  const auto made = stage.os().open(stage.folder() + "/race", {.write = true, .create = true});
  if (!made) {
    return ok();  // The other one was first.
  }
  stage.tell(stage.role() + " was first");
  return stage.os().close(*made);
}

Status race_root(Stage& stage) {
  LASTREF_CHECK(stage.start("left"));
  LASTREF_CHECK(stage.start("right"));
  if (stage.await("right was first")) {
    stage.refute("left is first", "right was");
  }
  return stage.os().unlink(stage.folder() + "/race");
}

Status pause_root(Stage& stage) {
  LASTREF_CHECK(stage.start("worker"));
  stage.await("works");
  stage.stop("worker");
  stage.tell("go on");
  if (stage.await("done")) {
    stage.refute("a stopped process does nothing", "it said done");
  }
  if (!stage.resume("worker")) {
    stage.refute("a process is stopped until another one resumes it", "it was not");
  }
  if (!stage.await("done")) {
    stage.refute("a resumed process goes on", "it said nothing");
  }
  LASTREF_CHECK(stage.start("worker"));
  stage.kill("worker");
  return ok();
}

Status pause_worker(Stage& stage) {
  stage.tell("works");
  stage.await("go on");
  stage.tell("done");
  return ok();
}

Status lock_root(Stage& stage) {
  os::Os& os = stage.os();
  const std::string path = stage.folder() + "/lock";
  LASTREF_TRY(made, os.open(path, {.write = true, .create = true}));
  const Status started = stage.start("owner");
  stage.await("locked");
  stage.kill("owner");
  // The lock is free immediately.
  const Status locked = os.lock_range(made, {.kind = os::LockKind::exclusive});
  if (!locked) {
    stage.refute("a killed process has really let go of everything", describe(locked.error()));
  }
  return first_failure({started, os.close(made), os.unlink(path)});
}

/// Ignores the signals from its second call on.
Status deaf_root(Stage& stage) {
  for (const os::Signal signal : tracker::ignored_signals) {
    LASTREF_CHECK(stage.os().ignore_signal(signal));
  }
  static_cast<void>(stage.os().now());
  return ok();
}

Status lock_owner(Stage& stage) {
  const auto file = stage.os().open(stage.folder() + "/lock", {.write = true});
  if (file && stage.os().lock_range(*file, {.kind = os::LockKind::exclusive})) {
    stage.tell("locked");
  }
  stage.stay_until_killed();
  return ok();
}

Status stranger_root(Stage& stage) {
  int here = 1;
  stage.fork_stranger([&] {
    here = 2;
    stage.tell(std::to_string(here));
    return ok();
  });
  if (!stage.await("2") || here != 1) {
    stage.refute("a stranger is a copy", std::to_string(here));
  }
  return ok();
}

Status nothing(Stage& /*stage*/) {
  return ok();
}

Status four_root(Stage& stage) {
  for (const char* role : {"a", "b", "c"}) {
    LASTREF_CHECK(stage.start(role));
  }
  return ok();
}

Status hang_root(Stage& stage) {
  const auto pipe = stage.os().make_pipe();
  wait_readable(stage.os(), pipe->read);
  return ok();
}

Status spin_root(Stage& stage) {
  for (;;) {
    static_cast<void>(stage.os().user_id());
  }
}

Status crash_root(Stage& stage) {
  LASTREF_CHECK(stage.start("crasher"));
  stage.stay_until_killed();
  return ok();
}

Status crasher(Stage& /*stage*/) {
  LASTREF_ASSERT(false);
  return ok();
}

Status leak_root(Stage& stage) {
  return status_of(stage.os().open(stage.folder() + "/left", {.write = true, .create = true}));
}

Status write_root(Stage& stage) {
  os::Os& os = stage.os();
  const std::string path = stage.folder() + "/file";
  if (auto file = os::open_file(os, path, {.write = true, .create = true})) {
    const Status written = os::write_all(os, file->get(), os::bytes_of("12345678"));
    if (!written) {
      os::report_quietly(os, describe(written.error()));
    }
  }
  return os::discard(os, path);
}

Scenario toy(std::string name, std::vector<Role> roles) {
  return {.name = std::move(name), .sentence = "A toy.", .rows = {}, .roles = std::move(roles)};
}

const std::vector<Scenario>& toys() {
  static const std::vector<Scenario> all = {
      toy("echo", {{"root", echo_root}, {"client", echo_client}}),
      toy("threads", {{"root", threads_root}}),
      toy("patient", {{"root", patient_root}}),
      toy("race", {{"root", race_root}, {"left", racer}, {"right", racer}}),
      toy("pause", {{"root", pause_root}, {"worker", pause_worker}}),
      toy("deaf", {{"root", deaf_root}}),
      toy("lock", {{"root", lock_root}, {"owner", lock_owner}}),
      toy("stranger", {{"root", stranger_root}}),
      toy("empty", {{"root", four_root}, {"a", nothing}, {"b", nothing}, {"c", nothing}}),
      toy("hang", {{"root", hang_root}}),
      toy("spin", {{"root", spin_root}}),
      toy("crash", {{"root", crash_root}, {"crasher", crasher}}),
      toy("leak", {{"root", leak_root}}),
      toy("write", {{"root", write_root}}),
  };
  return all;
}

const Scenario& toy_named(std::string_view name) {
  return *std::ranges::find(toys(), name, &Scenario::name);
}

class KernelWorldTest : public testing::Test {
 protected:
  Outcome run(std::string_view name, const Plan& plan = {}) {
    return world_.run(toy_named(name), plan);
  }
  Outcome enumerate(std::string_view name) {
    Plan plan;
    plan.wants_crossings = true;
    return run(name, plan);
  }
  Outcome with_fault(std::string_view name, const std::string& text) {
    Plan plan;
    plan.faults.push_back(parse_fault(text).value());
    return run(name, plan);
  }

  KernelWorld world_{{.scenarios = &toys(), .core = 0, .entries = {{"tracker", echo_once}}}};
};

TEST_F(KernelWorldTest, clean_toys_have_no_findings) {
  for (const char* name :
       {"echo", "threads", "patient", "race", "pause", "deaf", "lock", "empty", "write"}) {
    EXPECT_THAT(run(name).findings, IsEmpty()) << name;
  }
}

TEST_F(KernelWorldTest, a_stranger_is_a_real_fork) {
  EXPECT_THAT(run("stranger").findings, IsEmpty());
}

TEST_F(KernelWorldTest, a_hundred_enumerations_of_a_clean_run_agree) {
  for (const char* name : {"echo", "threads", "race", "pause"}) {
    const Outcome first = enumerate(name);
    for (int again = 0; again < 100; ++again) {
      const Outcome other = enumerate(name);
      ASSERT_EQ(other.crossings, first.crossings) << name;
      ASSERT_EQ(other.choices, first.choices) << name;
      ASSERT_EQ(other.options, first.options) << name;
    }
  }
}

TEST_F(KernelWorldTest, points_name_role_call_and_object) {
  const Outcome outcome = enumerate("echo");
  std::vector<std::string> sites;
  for (const Crossing& crossing : outcome.crossings) {
    sites.push_back(to_text(crossing.site));
  }
  EXPECT_THAT(sites, Contains("root/bind(socket)#1"));
  EXPECT_THAT(sites, Contains("root/spawn(tracker)#1"));
  EXPECT_THAT(sites, Contains("tracker/receive(conn:client)#1"));
  EXPECT_THAT(sites, Contains("client/send(tracker)#1"));
  EXPECT_THAT(sites, Contains("root/close(process:tracker)#1"));
}

TEST_F(KernelWorldTest, a_call_that_waited_says_so) {
  const Outcome outcome = enumerate("echo");
  EXPECT_THAT(outcome.crossings, Contains(Field(&Crossing::waited, true)));
}

TEST_F(KernelWorldTest, a_kill_at_any_point_ends_the_run_without_a_hang) {
  const Outcome clean = enumerate("echo");
  for (const Crossing& crossing : clean.crossings) {
    for (const FaultKind kind : {FaultKind::kill_before, FaultKind::kill_after}) {
      for (const bool whole_tree : {false, true}) {
        Plan plan;
        plan.faults.push_back({.site = crossing.site, .kind = kind, .whole_tree = whole_tree});
        const Outcome outcome = run("echo", plan);
        EXPECT_EQ(outcome.faults_fired, 1U) << to_text(plan.faults.front());
        EXPECT_GE(outcome.kills, 1U) << to_text(plan.faults.front());
        EXPECT_THAT(outcome.findings, Not(Contains(Field(&Finding::claim, StartsWith("no-hang")))))
            << to_text(plan.faults.front());
      }
    }
  }
}

TEST_F(KernelWorldTest, a_process_can_be_killed_while_it_waits) {
  const Outcome outcome = with_fault("echo", "tracker/poll()#1 kill_blocked");
  EXPECT_EQ(outcome.faults_fired, 1U);
  EXPECT_EQ(outcome.kills, 1U);
}

TEST_F(KernelWorldTest, an_error_comes_once_or_for_ever) {
  const Outcome once = with_fault("write", "root/write(file)#1 fail_once EINTR");
  EXPECT_THAT(once.findings, IsEmpty());
  EXPECT_THAT(once.standard_error, IsEmpty());
  Plan plan;
  plan.faults.push_back(parse_fault("root/write(file)#1 fail_always ENOSPC").value());
  plan.wants_crossings = true;
  std::size_t writes = 0;
  for (const Crossing& crossing : run("write", plan).crossings) {
    if (crossing.site.name == "write") {
      ++writes;
      EXPECT_EQ(crossing.error, ENOSPC) << to_text(crossing.site);
      EXPECT_TRUE(crossing.injected) << to_text(crossing.site);
    }
  }
  EXPECT_EQ(writes, 2U) << "to the file, and to standard error about that";
}

TEST_F(KernelWorldTest, a_shortened_write_is_half_of_it) {
  Plan plan;
  plan.faults.push_back(parse_fault("root/write(file)#1 shorten").value());
  plan.wants_crossings = true;
  const Outcome outcome = run("write", plan);
  EXPECT_THAT(outcome.findings, IsEmpty());
  EXPECT_THAT(outcome.crossings,
              Contains(Field(&Crossing::site, (Site{"root", "write", "file", 2}))));
}

TEST_F(KernelWorldTest, an_interrupt_kills_whoever_minds_it_and_changes_nothing_for_others_T1) {
  for (const std::string minded : {"interrupt", "terminate", "hang_up", "quit"}) {
    const Outcome outcome = with_fault("deaf", "root/ignore_signal(" + minded + ")#1 interrupt");
    EXPECT_EQ(outcome.faults_fired, 1U);
    EXPECT_THAT(outcome.findings, Contains(Field(&Finding::claim, StartsWith("no-crash"))))
        << minded;
  }
  const Outcome outcome = with_fault("deaf", "root/now()#1 interrupt");
  EXPECT_EQ(outcome.faults_fired, 1U);
  EXPECT_THAT(outcome.findings, IsEmpty());
}

TEST_F(KernelWorldTest, choices_decide_who_goes_first) {
  EXPECT_THAT(run("race").findings, IsEmpty());
  bool right_was_first = false;
  const Outcome clean = enumerate("race");
  ASSERT_THAT(clean.options, Not(IsEmpty()));
  for (std::size_t at = 0; at < clean.options.size(); ++at) {
    for (std::uint32_t answer = 1; answer < clean.options[at]; ++answer) {
      Plan plan;
      plan.choices.assign(clean.choices.begin(), clean.choices.begin() + static_cast<long>(at));
      plan.choices.push_back(answer);
      right_was_first = right_was_first || !run("race", plan).findings.empty();
    }
  }
  EXPECT_TRUE(right_was_first);
}

TEST_F(KernelWorldTest, a_seed_is_a_run_and_its_answers_repeat_it) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Plan plan;
    plan.seed = seed;
    plan.wants_crossings = true;
    const Outcome drawn = run("echo", plan);
    EXPECT_EQ(run("echo", plan).crossings, drawn.crossings);
    Plan listed;
    listed.choices = drawn.choices;
    listed.wants_crossings = true;
    EXPECT_EQ(run("echo", listed).crossings, drawn.crossings);
  }
}

TEST_F(KernelWorldTest, who_waits_for_ever_is_a_hang) {
  EXPECT_THAT(run("hang").findings,
              ElementsAre(testing::AllOf(Field(&Finding::claim, StartsWith("no-hang: ")),
                                         Field(&Finding::seen, "root in poll"))));
}

TEST_F(KernelWorldTest, who_never_waits_and_never_ends_is_a_hang_too) {
  EXPECT_THAT(run("spin").findings, Contains(Field(&Finding::claim, StartsWith("no-hang: "))));
}

TEST_F(KernelWorldTest, who_dies_by_itself_is_a_crash) {
  EXPECT_THAT(run("crash").findings, Contains(Field(&Finding::claim, StartsWith("no-crash"))));
}

TEST_F(KernelWorldTest, what_is_left_is_found_and_the_next_run_starts_clean) {
  const Outcome outcome = run("leak");
  EXPECT_THAT(outcome.findings, Contains(Field(&Finding::claim, StartsWith("no-leak"))));
  EXPECT_THAT(outcome.findings, Contains(Field(&Finding::claim, StartsWith("no-fd-or-map-leak"))));
  EXPECT_EQ(outcome.leftovers, 1U);
  EXPECT_EQ(run("leak").findings, outcome.findings);
  EXPECT_THAT(run("empty").findings, IsEmpty());
}

TEST_F(KernelWorldTest, runs_that_are_asked_for_ahead_come_back_in_order) {
  for (int round = 0; round < 5; ++round) {
    world_.submit(toy_named("empty"), {});
    world_.submit(toy_named("hang"), {});
  }
  for (int round = 0; round < 5; ++round) {
    EXPECT_THAT(world_.collect().findings, IsEmpty());
    EXPECT_THAT(world_.collect().findings, Not(IsEmpty()));
  }
}

TEST(KernelWorlds, run_side_by_side) {
  const KernelOptions options{
      .scenarios = &toys(), .core = {}, .entries = {{"tracker", echo_once}}};
  KernelWorld one(options);
  KernelWorld other(options);
  for (int round = 0; round < 20; ++round) {
    one.submit(toy_named("echo"), {});
    other.submit(toy_named("echo"), {});
    EXPECT_THAT(one.collect().findings, IsEmpty());
    EXPECT_THAT(other.collect().findings, IsEmpty());
  }
}

/// Sees one probe before a call and another after it.
Status probing_root(Stage& stage) {
  stage.os().hit(Probe::link_made_again);
  static_cast<void>(stage.os().now());
  stage.os().hit(Probe::tracker_replaced);
  return ok();
}

Status blind_root(Stage& /*stage*/) {
  return ok();
}

Scenario probing_toy(std::string name, Status (*root)(Stage&)) {
  return {.name = std::move(name),
          .sentence = "A toy.",
          .rows = {},
          .roles = {{.name = "root", .body = root}}};
}

TEST(KernelProbes, what_was_seen_outlives_a_process_that_is_killed_and_not_the_run) {
  const std::vector<Scenario> toys = {probing_toy("sees", probing_root),
                                      probing_toy("blind", blind_root)};
  KernelWorld world{{.scenarios = &toys}};
  constexpr auto first = static_cast<std::size_t>(Probe::link_made_again);
  constexpr auto second = static_cast<std::size_t>(Probe::tracker_replaced);
  EXPECT_EQ(world.run(toys[0], {}).probes, ProbeSet().set(first).set(second));
  Plan plan;
  plan.faults.push_back(parse_fault("root/now()#1 kill_before").value());
  EXPECT_EQ(world.run(toys[0], plan).probes, ProbeSet().set(first));
  EXPECT_TRUE(world.run(toys[1], {}).probes.none());
}

}  // namespace

}  // namespace lastref::harness
