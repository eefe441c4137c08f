// stage_processes_test: the processes that the product starts, and how they end, in both worlds.
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/owners.hpp>

#include "harness/instrument/gate.hpp"
#include "property_tests/stage_worlds.hpp"

namespace lastref::harness {
namespace {

using testing::Contains;
using testing::IsEmpty;

void wait_readable(os::Os& os, os::Fd fd) {
  os::PollItem item{.fd = fd, .want_read = true};
  static_cast<void>(os.poll(std::span(&item, 1), std::nullopt));
}

/// All that is said on a pipe until nobody can say anything there.
std::string read_all(os::Os& os, os::Fd fd) {
  std::string text;
  std::array<std::byte, 64> bytes{};
  for (;;) {
    wait_readable(os, fd);
    const auto size = os.read(fd, bytes);
    if (!size || *size == 0) {
      return text;
    }
    text.append(reinterpret_cast<const char*>(bytes.data()), *size);
  }
}

void say(os::Os& os, os::Fd fd, const std::string& text) {
  static_cast<void>(os::write_all(os, fd, os::bytes_of(text)));
}

/// How a child of this process ended, once it has.
os::ChildExit end_of(Stage& stage, os::Fd process) {
  wait_readable(stage.os(), process);
  const auto exit = stage.os().wait_child(process);
  expect(stage, exit && exit->has_value(), "a child that has ended can be reaped");
  return exit && *exit ? **exit : os::ChildExit{.code = -1, .killed = false};
}

// Roles as entries.

/// What a "worker" says that is started with these arguments and a pipe to speak into.
std::string told_by_worker(Stage& stage, std::vector<std::string> arguments) {
  os::Os& os = stage.os();
  const auto pipe = os.make_pipe();
  const os::UniqueFd read(os, pipe->read);
  os::UniqueFd write(os, pipe->write);
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

void entries_root(Stage& stage) {
  expect(stage, stage.lead().has_value(), "a tree is made");
  const std::string tree = stage.client().tree().value_or("");
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
  expect(stage, stage.arguments().empty(), "the root has no arguments");
}

/// Joins the tree that it was given, and leaves a name there for its end.
void worker(Stage& stage) {
  const os::UniqueFd write(stage.os(), os::Fd{3});
  const auto arguments = stage.arguments();
  const bool has_tree = !arguments.empty() && !arguments.front().empty();
  if (has_tree) {
    expect(stage, stage.join().has_value(), "a role that was spawned can join");
    const Resource file = stage.file(stage.role());
    static_cast<void>(stage.register_name(file));
    static_cast<void>(stage.make(file));
  }
  say(stage.os(),
      write.get(),
      stage.role() + ' ' + (arguments.empty() ? "-" : arguments.back()) + ' ' +
          stage.os().environment("LASTREF_TOY").value_or("no toy") +
          (has_tree ? " joined" : " alone"));
}

void processors_root(Stage& stage) {
  expect(stage, stage.os().processors() == processors_of_a_run, "a run has two processors");
}

const std::vector<Scenario>& toys() {
  static const std::vector<Scenario> all = {
      toy("entries", {{"root", entries_root}, {"worker", worker}, {"worker_2", worker}}),
      toy("processors", {{"root", processors_root}}),
  };
  return all;
}

class StageProcesses : public StageWorlds {
 protected:
  StageProcesses() : StageWorlds(toys()) {}

  Outcome enumerate(std::string_view name) {
    return run(name, {.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true});
  }
};

INSTANTIATE_TEST_SUITE_P(Worlds, StageProcesses, testing::ValuesIn(both_worlds()), name_of_row);

TEST_P(StageProcesses, an_entry_that_is_a_role_is_started_with_all_that_it_was_given) {
  EXPECT_THAT(run("entries").findings, IsEmpty());
}

TEST_P(StageProcesses, points_of_a_started_role_have_its_name_and_its_parents_that_of_the_entry) {
  std::vector<std::string> points;
  for (const Crossing& crossing : enumerate("entries").crossings) {
    points.push_back(to_text(crossing.point));
  }
  EXPECT_THAT(points, Contains("root/spawn(worker)#2"));
  EXPECT_THAT(points, Contains("root/wait_child(process:worker_2)#1"));
  EXPECT_THAT(points, Contains("worker_2/write(passed)#1"));
  EXPECT_THAT(points, Contains("worker#2/close(passed)#1"));
}

TEST_P(StageProcesses, a_run_has_two_processors_whatever_the_machine_has) {
  EXPECT_THAT(run("processors").findings, IsEmpty());
}

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
    EXPECT_EQ(sim.crossings, kernel.crossings) << scenario.name;
    EXPECT_EQ(sim.findings, kernel.findings) << scenario.name;
    EXPECT_EQ(sim.kills, kernel.kills) << scenario.name;
  }

  KernelWorld kernel_{{.scenarios = &toys()}};
  SimWorld sim_;
};

TEST_F(StageProcessesOfBoth, both_worlds_agree_in_every_order) {
  for (const Scenario& scenario : toys()) {
    agree_on(scenario, {.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true});
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      agree_on(scenario, {.faults = {}, .choices = {}, .seed = seed, .wants_crossings = true});
    }
  }
}

}  // namespace
}  // namespace lastref::harness
