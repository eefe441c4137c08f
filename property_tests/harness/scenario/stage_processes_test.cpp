// stage_processes_test: the processes that the product starts, and how they end, in both worlds.
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/owners.hpp>

#include "harness/explore/jobs.hpp"
#include "harness/explore/matrix.hpp"
#include "harness/instrument/interceptor.hpp"
#include "property_tests/harness/scenario/stage_pipes.hpp"
#include "property_tests/harness/scenario/stage_worlds.hpp"

namespace lastref::harness {
namespace {

using testing::Contains;
using testing::IsEmpty;

// Roles as entries.

/// The output of a "worker" that is started with these arguments and a pipe to write to.
std::string told_by_worker(Stage& stage, std::vector<std::string> arguments) {
  os::Os& os = stage.os();
  auto [read, write] = make_pipe(os);
  const auto child = os.spawn({.entry = "worker",
                               .arguments = std::move(arguments),
                               .fds = {{.here = write.get(), .number_there = 3}},
                               .blocked = {},
                               .environment = {{"LASTREF_TOY", "a toy"}}});
  if (!child) {
    return describe(child.error());
  }
  const os::UniqueFd process(os, child->process);
  write.close_quietly();
  std::string text = read_all(os, read.get());
  expect(stage, end_of(stage, process.get()) == os::ChildExit{}, "a role that returns ends with 0");
  return text;
}

Status entries_root(Stage& stage) {
  expect(stage, stage.product().lead().has_value(), "a tree is made");
  const std::string tree = stage.product().client().tree().value_or("");
  expect(stage, !tree.empty(), "a tree has a path");
  expect(stage, told_by_worker(stage, {tree, "1"}) == "worker 1 a toy joined", "role and tree");
  expect(stage, told_by_worker(stage, {tree, "2"}) == "worker_2 2 a toy joined", "role by number");
  expect(stage, told_by_worker(stage, {"", "3"}) == "worker#2 3 a toy alone", "no tree is no tree");
  expect(stage, told_by_worker(stage, {}) == "worker#3 - a toy alone", "no arguments are needed");
  expect(stage, !stage.os().environment("LASTREF_TOY"), "the parent's environment is its own");
  const auto nobody =
      stage.os().spawn({.entry = "nobody", .arguments = {}, .fds = {}, .blocked = {}});
  expect(stage,
         !nobody && nobody.error().code == std::errc::no_such_file_or_directory,
         "what is neither an entry nor a role cannot be started");
  const auto passes_nothing = stage.os().spawn({.entry = "worker",
                                                .arguments = {},
                                                .fds = {{.here = os::Fd{99}, .number_there = 3}},
                                                .blocked = {}});
  expect(stage,
         !passes_nothing && passes_nothing.error().code == std::errc::bad_file_descriptor,
         "what is not open cannot be passed");
  expect(stage, stage.arguments().empty(), "the root has no arguments");
  return ok();
}

/// Joins the tree that it was given, and leaves a name there for its end.
Status worker(Stage& stage) {
  const os::UniqueFd write(stage.os(), os::Fd{3});
  const auto arguments = stage.arguments();
  const bool has_tree = !arguments.empty() && !arguments.front().empty();
  if (has_tree) {
    const Resource file = stage.product().file(stage.role());
    expect(
        stage,
        stage.product().join() && stage.product().register_name(file) && stage.product().make(file),
        "a role that was spawned can join");
  }
  say(stage.os(),
      write.get(),
      stage.role() + ' ' + (arguments.empty() ? "-" : arguments.back()) + ' ' +
          stage.os().environment("LASTREF_TOY").value_or("no toy") +
          (has_tree ? " joined" : " alone"));
  return ok();
}

Status processors_root(Stage& stage) {
  expect(stage, stage.os().processors() == processors_of_a_run, "a run has two processors");
  return ok();
}

// Deaths caused by a process of the run.

/// A child of the root. If it is "patient", it waits for the end of the pipe.
struct Child {
  Child(Stage& stage, const std::string& entry, std::vector<os::Signal> blocked = {})
      : until(make_pipe(stage.os())) {
    auto child = stage.os().spawn({.entry = entry,
                                   .arguments = {stage.product().client().tree().value_or("")},
                                   .fds = {{.here = until.front().get(), .number_there = 3}},
                                   .blocked = std::move(blocked)});
    expect(stage, child.has_value(), "a child can be started");
    process = os::UniqueFd(stage.os(), child ? child->process : os::Fd::none);
    until.front().close_quietly();
  }

  std::array<os::UniqueFd, 2> until;
  os::UniqueFd process;
};

void signal(Stage& stage, const Child& child, os::Signal signal) {
  expect(stage,
         stage.os().signal_process(child.process.get(), signal).has_value(),
         "a signal can be sent to a child that is not reaped");
}

bool lives(Stage& stage, const Child& child) {
  const auto exit = stage.os().wait_child(child.process.get());
  return exit && !exit->has_value();
}

/// Has a file in the tree, and runs until no process has the other end of 3.
Status patient(Stage& stage) {
  const os::UniqueFd until(stage.os(), os::Fd{3});
  const Resource file = stage.product().file(stage.role());
  if (stage.product().join() && stage.product().register_name(file) && stage.product().make(file)) {
    stage.tell(stage.role() + " has its file");
  }
  wait_readable(stage.os(), until.get());
  return ok();
}

constexpr os::ChildExit died_of(int number) {
  return {.code = number, .killed = true};
}

/// Signals that end a patient child: immediately, and when it is resumed.
Status executioner(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  const Child killed(stage, "patient");
  stage.await("patient has its file");
  signal(stage, killed, os::Signal::kill);
  expect(stage, end_of(stage, killed.process.get()) == died_of(9), "a child dies of a kill");
  const Child stopped(stage, "patient");
  stage.await("patient#2 has its file");
  signal(stage, stopped, os::Signal::stop);
  signal(stage, stopped, os::Signal::terminate);
  expect(stage, lives(stage, stopped), "a stopped process dies later");
  signal(stage, stopped, os::Signal::resume);
  expect(stage, end_of(stage, stopped.process.get()) == died_of(15), "it dies when it is resumed");
  const Child held(stage, "patient");
  stage.await("patient#3 has its file");
  stage.stop("patient#3");
  signal(stage, held, os::Signal::interrupt);
  stage.resume("patient#3");
  expect(stage, end_of(stage, held.process.get()) == died_of(2), "and by whomever");
  stage.tell("all are dead");
  return ok();
}

/// A process that another has stopped, which dies.
Status stopped_by_another(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  Child patient(stage, "patient");
  stage.await("patient has its file");
  const Child stopper(stage, "stopper");
  stage.await("patient is stopped");
  stage.kill("stopper");
  static_cast<void>(end_of(stage, stopper.process.get()));
  expect(stage, !stage.resume("patient"), "a stop does not outlive the process that stops");
  patient.until.back().close_quietly();
  static_cast<void>(end_of(stage, patient.process.get()));
  return ok();
}

Status stopper(Stage& stage) {
  const os::UniqueFd until(stage.os(), os::Fd{3});
  stage.stop("patient");
  stage.tell("patient is stopped");
  stage.stay_until_killed();
  return ok();
}

/// Its own thread kills it, or the first one does.
Status kill_self(Stage& stage, bool by_thread) {
  os::Os& os = stage.os();
  const os::UniqueFd until(os, os::Fd{3});
  const Resource file = stage.product().file(stage.role());
  if (stage.product().join() && stage.product().register_name(file)) {
    static_cast<void>(stage.product().make(file));
  }
  const auto die = [&] {
    const auto self = os.open_process(os.process_id());
    if (self) {
      stage.tell(stage.role() + " dies");
      static_cast<void>(os.signal_process(*self, os::Signal::kill));
    }
    stage.refute("a process that has killed itself is dead", stage.role() + " does");
  };
  if (by_thread) {
    const auto thread = os.start_thread(die);
    wait_readable(os, until.get());
    if (thread) {
      (*thread)->join();
    }
  } else {
    die();
  }
  return ok();
}

Status suicides_root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  for (const char* entry : {"first_thread", "other_thread"}) {
    const Child child(stage, entry);
    expect(stage, end_of(stage, child.process.get()) == died_of(9), "a process can kill itself");
    expect(stage, stage.await(std::string(entry) + " dies"), "it has come so far");
  }
  return ok();
}

Status late_root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  const Child child(stage, "brief");
  wait_readable(stage.os(), child.process.get());
  signal(stage, child, os::Signal::kill);
  expect(stage, end_of(stage, child.process.get()) == os::ChildExit{}, "it had ended before");
  return ok();
}

Status brief(Stage& stage) {
  const os::UniqueFd until(stage.os(), os::Fd{3});
  return ok();
}

/// Is sent a signal that it blocks, and then unblocks it.
Status hesitant(Stage& stage) {
  const os::UniqueFd until(stage.os(), os::Fd{3});
  stage.await("sent");
  static_cast<void>(stage.os().unblock_signal(os::Signal::terminate));
  stage.refute("a pending signal ends a process that unblocks it", "it lives");
  return ok();
}

Status hesitant_root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  const Child child(stage, "hesitant", {os::Signal::terminate});
  signal(stage, child, os::Signal::terminate);
  expect(stage, lives(stage, child), "a blocked signal does nothing");
  stage.tell("sent");
  expect(stage, end_of(stage, child.process.get()) == died_of(15), "it dies in the end");
  return ok();
}

// Ctrl-C.

/// Runs until no process has the other end of 3, unless an interrupt ends it.
Status minder(Stage& stage, bool ignores) {
  const os::UniqueFd until(stage.os(), os::Fd{3});
  if (ignores) {
    static_cast<void>(stage.os().ignore_signal(os::Signal::interrupt));
  }
  stage.tell(stage.role() + " waits");
  wait_readable(stage.os(), until.get());
  return ok();
}

void expect_processes(Stage& stage, const std::string& role, std::size_t count) {
  expect(stage,
         stage.processes(role) == count,
         std::to_string(count) + " processes in " + role + " live");
}

Status terminal_root(Stage& stage, bool ignores) {
  LASTREF_CHECK(stage.product().lead());
  if (ignores) {
    static_cast<void>(stage.os().ignore_signal(os::Signal::interrupt));
  }
  expect_processes(stage, "mortal", 0);
  const std::array<Child, 3> mortals = {
      Child(stage, "mortal"), Child(stage, "mortal"), Child(stage, "mortal")};
  Child deaf(stage, "deaf");
  Child blocking(stage, "mortal", {os::Signal::interrupt});
  for (const char* who : {"mortal", "mortal#2", "mortal#3", "mortal#4", "deaf"}) {
    expect(stage, stage.await(std::string(who) + " waits"), "all are there");
  }
  stage.stop("mortal#3");
  expect_processes(stage, "mortal", 4);
  expect_processes(stage, "mortal#2", 1);
  stage.interrupt_all();
  expect(stage, ignores, "the caller dies of it too");
  expect_processes(stage, "mortal", 2);
  expect_processes(stage, "mortal#2", 0);
  expect_processes(stage, "deaf", 1);
  expect_processes(stage, "tracker", 1);
  expect_processes(stage, "root", 1);
  for (const Child& each : std::span(mortals).first(2)) {
    expect(stage,
           end_of(stage, each.process.get()) == died_of(2),
           "a process that neither ignores nor blocks it dies");
  }
  expect(stage, lives(stage, mortals[2]), "a stopped process dies later");
  stage.resume("mortal#3");
  expect(stage, end_of(stage, mortals[2].process.get()) == died_of(2), "when it is resumed");
  expect(stage, lives(stage, deaf), "a process that ignores it survives");
  expect(stage, lives(stage, blocking), "and so does a process that blocks it");
  for (Child* each : {&deaf, &blocking}) {
    each->until.back().close_quietly();
    static_cast<void>(end_of(stage, each->process.get()));
  }
  return ok();
}

/// A scenario in which a child may be the last to die.
Scenario deadly(std::string name, std::vector<Role> roles) {
  Scenario made = toy(std::move(name), std::move(roles));
  made.possible_noise = {"the last process of the tree has ended: removing"};
  return made;
}

const std::vector<Scenario>& toys_of_processes() {
  static const std::vector<Scenario> all = {
      toy("entries", {{"root", entries_root}, {"worker", worker}, {"worker_2", worker}}),
      deadly("executioner", {{"root", executioner}, {"patient", patient}}),
      deadly("stopped_by_another",
             {{"root", stopped_by_another}, {"patient", patient}, {"stopper", stopper}}),
      deadly("suicides",
             {{"root", suicides_root},
              {"first_thread", [](Stage& stage) { return kill_self(stage, /*by_thread=*/false); }},
              {"other_thread", [](Stage& stage) { return kill_self(stage, /*by_thread=*/true); }}}),
      toy("late", {{"root", late_root}, {"brief", brief}}),
      toy("hesitant", {{"root", hesitant_root}, {"hesitant", hesitant}}),
      deadly("terminal",
             {{"root", [](Stage& stage) { return terminal_root(stage, /*ignores=*/true); }},
              {"mortal", [](Stage& stage) { return minder(stage, /*ignores=*/false); }},
              {"deaf", [](Stage& stage) { return minder(stage, /*ignores=*/true); }}}),
      deadly("mortal_terminal",
             {{"root", [](Stage& stage) { return terminal_root(stage, /*ignores=*/false); }},
              {"mortal", [](Stage& stage) { return minder(stage, /*ignores=*/false); }},
              {"deaf", [](Stage& stage) { return minder(stage, /*ignores=*/true); }}}),
      toy("processors", {{"root", processors_root}}),
  };
  return all;
}

class StageProcesses : public StageWorlds {
 protected:
  StageProcesses() : StageWorlds(toys_of_processes()) {}

  Outcome enumerate(std::string_view name) {
    return run(name, {.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true});
  }
};

INSTANTIATE_TEST_SUITE_P(Worlds, StageProcesses, testing::ValuesIn(both_worlds()), name_of_row);

TEST_P(StageProcesses, an_entry_that_is_a_role_is_started_with_all_that_it_was_given) {
  EXPECT_THAT(run("entries").findings, IsEmpty());
}

TEST_P(StageProcesses, points_of_a_started_role_have_its_name_and_its_parents_that_of_the_entry) {
  std::vector<std::string> sites;
  for (const Crossing& crossing : enumerate("entries").crossings) {
    sites.push_back(to_text(crossing.site));
  }
  EXPECT_THAT(sites, Contains("root/spawn(worker)#2"));
  EXPECT_THAT(sites, Contains("root/wait_child(process:worker_2)#1"));
  EXPECT_THAT(sites, Contains("worker_2/write(passed)#1"));
  EXPECT_THAT(sites, Contains("worker#2/close(passed)#1"));
}

TEST_P(StageProcesses, a_run_has_two_processors_whatever_the_machine_has) {
  EXPECT_THAT(run("processors").findings, IsEmpty());
}

TEST_P(StageProcesses, a_child_that_its_parent_kills_is_a_death_and_no_crash) {
  const Outcome outcome = run("executioner");
  EXPECT_THAT(outcome.findings, IsEmpty());
  EXPECT_EQ(outcome.kills, 3U);
}

TEST_P(StageProcesses, a_process_continues_when_the_one_that_stopped_it_dies) {
  EXPECT_THAT(run("stopped_by_another").findings, IsEmpty());
}

TEST_P(StageProcesses, a_process_that_kills_itself_never_runs_again_and_is_no_crash) {
  const Outcome outcome = run("suicides");
  EXPECT_THAT(outcome.findings, IsEmpty());
  EXPECT_EQ(outcome.kills, 2U);
}

TEST_P(StageProcesses, a_kill_changes_nothing_for_who_has_ended) {
  const Outcome outcome = run("late");
  EXPECT_THAT(outcome.findings, IsEmpty());
  EXPECT_EQ(outcome.kills, 0U);
}

TEST_P(StageProcesses, who_dies_of_a_signal_that_was_pending_is_no_crash) {
  EXPECT_THAT(run("hesitant").findings, IsEmpty());
}

TEST_P(StageProcesses, who_neither_ignores_nor_blocks_an_interrupt_of_all_dies_and_is_no_crash) {
  const Outcome outcome = run("terminal");
  EXPECT_THAT(outcome.findings, IsEmpty());
  EXPECT_EQ(outcome.kills, 3U);
}

TEST_P(StageProcesses, who_interrupts_all_may_die_of_it_and_the_run_goes_on) {
  const Outcome outcome = run("mortal_terminal");
  EXPECT_THAT(outcome.findings, IsEmpty());
  EXPECT_EQ(outcome.kills, 4U);
}

TEST_P(StageProcesses, a_signal_that_no_process_sent_makes_a_crash) {
  Plan plan;
  plan.faults.push_back(parse_fault("patient/poll()#1 interrupt").value());
  EXPECT_THAT(
      run("executioner", plan).findings,
      Contains(testing::AllOf(testing::Field(&Finding::claim, testing::StartsWith("no-crash: ")),
                              testing::Field(&Finding::seen,
                                             testing::AllOf(testing::StartsWith("patient "),
                                                            testing::EndsWith(" SIGINT"))))));
}

/// One of this many faults of a toy's matrix is tried in both worlds, and this many orders.
constexpr std::size_t one_in = 41;
constexpr std::uint64_t orders_tried = 20;

/// Both worlds at once.
class StageProcessesOfBoth : public testing::Test {
 protected:
  void SetUp() override {
    if (!kernel_.degraded().empty()) {
      GTEST_SKIP() << "needs namespaces, else pids differ: " << kernel_.degraded();
    }
  }

  void agree_on(const Scenario& scenario, const Plan& plan) {
    const Outcome sim = sim_.run(scenario, plan);
    const Outcome kernel = kernel_.run(scenario, plan);
    EXPECT_EQ(difference_of(sim, kernel), "") << scenario.name;
  }

  KernelWorld kernel_{{.scenarios = &toys_of_processes()}};
  SimWorld sim_;
};

TEST_F(StageProcessesOfBoth, both_worlds_agree_in_every_order) {
  for (const Scenario& scenario : toys_of_processes()) {
    agree_on(scenario, {.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true});
    for (std::uint64_t seed = 1; seed <= orders_tried; ++seed) {
      agree_on(scenario, {.faults = {}, .choices = {}, .seed = seed, .wants_crossings = true});
    }
  }
}

TEST_F(StageProcessesOfBoth, both_worlds_agree_on_faults) {
  for (const Scenario& scenario : toys_of_processes()) {
    const Plan clean{.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true};
    const std::vector<Fault> matrix = matrix_of(sim_.run(scenario, clean).crossings);
    for (std::size_t at = 0; at < matrix.size(); at += one_in) {
      Plan plan = clean;
      plan.faults = {matrix[at]};
      SCOPED_TRACE(to_text(matrix[at]));
      agree_on(scenario, plan);
    }
  }
}

}  // namespace
}  // namespace lastref::harness
