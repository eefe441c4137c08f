// worlds_exit_test: a process of either world runs the actions that it registered for its end when
// it ends normally, and not when it is killed.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/kernel/kernel_world.hpp"
#include "harness/sim/sim_world.hpp"
#include "property_tests/support/printing.hpp"

namespace lastref::harness {
namespace {

/// Makes a file that an action removes at the end of the process.
void make_file(os::Os& os, const std::string& path) {
  if (const auto file = os.open(path, {.write = true, .create = true})) {
    static_cast<void>(os.close(*file));
  }
  // No other object exists as long as the action.
  auto hook = std::make_shared<std::unique_ptr<os::ExitHook>>();
  *hook = os.at_exit([&os, path, hook] {
    static_cast<void>(os.unlink(path));
    hook->reset();
  });
}

Status role(Stage& stage) {
  make_file(stage.os(), stage.folder() + "/of_role");
  static_cast<void>(stage.os().user_id());
  return ok();
}

int entry(os::Os& os, std::span<const std::string> arguments) {
  make_file(os, arguments.front());
  return 0;
}

Status spawning_role(Stage& stage) {
  os::Os& os = stage.os();
  const auto child = os.spawn({.entry = "tracker",
                               .arguments = {stage.folder() + "/of_entry"},
                               .fds = {},
                               .blocked = {},
                               .end_wanted = false});
  if (child) {
    os::PollItem item{.fd = child->process, .want_read = true};
    static_cast<void>(os.poll(std::span(&item, 1), std::nullopt));
    static_cast<void>(os.close(child->process));
  }
  return ok();
}

const std::vector<Scenario>& toys() {
  static const std::vector<Scenario> all = {
      {.name = "toy/role", .sentence = "A toy.", .rows = {}, .roles = {{"root", role}}},
      {.name = "toy/entry", .sentence = "A toy.", .rows = {}, .roles = {{"root", spawning_role}}}};
  return all;
}

const Scenario& of_role() {
  return toys().front();
}
const Scenario& of_entry() {
  return toys().back();
}

std::size_t unlinks(const Outcome& outcome) {
  return static_cast<std::size_t>(
      std::ranges::count_if(outcome.crossings, [](const Crossing& crossing) {
        return crossing.site.name == "unlink" && crossing.error == 0;
      }));
}

Plan plan(const std::string& fault = {}) {
  Plan made{.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true};
  if (!fault.empty()) {
    made.faults.push_back(parse_fault(fault).value());
  }
  return made;
}

void tidies_up_at_an_orderly_end_alone(World& world) {
  const Outcome clean = world.run(of_role(), plan());
  EXPECT_EQ(clean.findings, std::vector<Finding>());
  EXPECT_EQ(unlinks(clean), 1U);
  const Outcome killed = world.run(of_role(), plan("root/user_id()#1 kill_after"));
  EXPECT_EQ(killed.kills, 1U);
  EXPECT_EQ(unlinks(killed), 0U);
}

class WorldsExit : public testing::Test {
 protected:
  KernelWorld kernel_{{.scenarios = &toys(), .entries = {{"tracker", entry}}}};
};

TEST_F(WorldsExit, a_simulated_role_tidies_up_at_an_orderly_end_alone) {
  SimWorld world;
  tidies_up_at_an_orderly_end_alone(world);
}

TEST_F(WorldsExit, a_real_role_tidies_up_at_an_orderly_end_alone) {
  tidies_up_at_an_orderly_end_alone(kernel_);
}

TEST_F(WorldsExit, a_real_entry_tidies_up_too) {
  const Outcome clean = kernel_.run(of_entry(), plan());
  EXPECT_EQ(clean.findings, std::vector<Finding>());
  EXPECT_EQ(unlinks(clean), 1U);
}

}  // namespace
}  // namespace lastref::harness
