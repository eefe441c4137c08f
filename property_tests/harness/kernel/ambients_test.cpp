// ambients_test: the environment that a scenario's processes see in each ambient, and that
// processes started by the product are executed as well. This program is also the processes of
// those runs.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/kernel/kernel_world.hpp"
#include "property_tests/support/printing.hpp"

namespace lastref::harness {
namespace {

namespace fs = std::filesystem;

/// A line of a file of the kernel, after its label.
std::string line_of(const char* file, const std::string& label) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(label)) {
      return line.substr(label.size());
    }
  }
  return {};
}

std::string target_of(const char* link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  return error ? "closed" : target.string();
}

constexpr Parameter<int> number = {.name = "number", .usual = 1, .values = {1, 2}};

/// What a role sees of its process, as findings that cannot be missed.
Status look(Stage& stage) {
  const char* const status = "/proc/self/status";
  const std::map<std::string, std::string> seen = {
      {"executed as", line_of("/proc/self/cmdline", "lastref")},
      {"number", std::to_string(stage.value(number))},
      {"process", line_of(status, "Pid:\t")},
      {"ignored", line_of(status, "SigIgn:\t")},
      {"umask", line_of(status, "Umask:\t")},
      {"user", line_of(status, "Uid:\t")},
      {"descriptors", line_of("/proc/self/limits", "Max open files            ").substr(0, 4)},
      {"standard error", target_of("/proc/self/fd/2")},
      {"folder", fs::current_path().string()}};
  for (const auto& [what, found] : seen) {
    stage.refute(stage.role() + " " + what, found);
  }
  return ok();
}

Status root(Stage& stage) {
  LASTREF_CHECK(look(stage));
  LASTREF_CHECK(stage.start("child"));
  static_cast<void>(
      stage.os().spawn({.entry = "worker", .arguments = {"tree", "1"}, .fds = {}, .blocked = {}}));
  return ok();
}

Status await_nobody(Stage& stage) {
  static_cast<void>(stage.product().operation("wait", [&]() -> Status {
    stage.refute("strangers", std::to_string(stage.processes("stranger")));
    return ok();
  }));
  stage.refute("standard error after an operation", target_of("/proc/self/fd/2"));
  stage.refute("strangers after an operation", std::to_string(stage.processes("stranger")));
  return ok();
}

/// Forbidden for every product: it writes to a file that the program has opened as 2.
Status speak_into_2(Stage& stage) {
  std::vector<Status> words;
  for (int words_left = 2; words_left > 0; --words_left) {
    words.push_back(stage.product().operation("speak", []() -> Status {
      std::ofstream("/dev/fd/2") << "a message";
      return ok();
    }));
  }
  return words.back();
}

const std::vector<Scenario>& toys() {
  static const std::vector<Scenario> all = {
      {.name = "toy/looks",
       .sentence = "A toy.",
       .rows = {},
       .roles = {{"root", root}, {"child", look}, {"worker", look}},
       .parameters = {number}},
      {.name = "toy/stranger", .sentence = "A toy.", .rows = {}, .roles = {{"root", await_nobody}}},
      {.name = "toy/speaks", .sentence = "A toy.", .rows = {}, .roles = {{"root", speak_into_2}}},
  };
  return all;
}

class Ambients : public testing::Test {
 protected:
  /// The values that were seen in an ambient, by the refuted claim.
  std::map<std::string, std::string> in(std::string_view ambient,
                                        std::size_t toy = 0,
                                        const ParameterValues& parameters = {}) {
    Plan plan;
    plan.parameters = parameters;
    plan.ambient = ambient;
    std::map<std::string, std::string> seen;
    for (const Finding& finding : world_.run(toys()[toy], plan).findings) {
      seen[finding.claim] = finding.seen;
    }
    return seen;
  }

  KernelWorld world_{{.scenarios = &toys()}};
};

TEST_F(Ambients, execute_every_process_whoever_starts_it) {
  for (const char* const role : {"root", "child", "worker"}) {
    EXPECT_THAT(in("")[role + std::string(" executed as")],
                testing::Not(testing::HasSubstr("toy")));
    EXPECT_THAT(in("exec")[role + std::string(" executed as")], testing::HasSubstr("toy/looks"));
  }
}

TEST_F(Ambients, give_every_process_the_parameters_of_the_run) {
  for (const char* const ambient : {"", "exec"}) {
    for (const char* const role : {"root", "child", "worker"}) {
      const std::string claim = role + std::string(" number");
      EXPECT_EQ(in(ambient)[claim], "1") << ambient;
      EXPECT_EQ(in(ambient, 0, {{.name = "number", .value = "2"}})[claim], "2") << ambient;
    }
  }
}

TEST_F(Ambients, are_what_they_say) {
  EXPECT_EQ(in("closed")["root standard error"], "closed");
  EXPECT_EQ(in("closed")["child standard error"], "closed");
  EXPECT_EQ(in("closed")["worker standard error"], "/dev/null");
  EXPECT_THAT(in("full_stderr")["root standard error"], testing::StartsWith("pipe:"));
  EXPECT_NE(in("elsewhere")["root folder"], in("exec")["root folder"]);
  EXPECT_EQ(in("umask_0777")["child umask"], "0777");
  EXPECT_EQ(in("umask_0")["child umask"], "0000");
  EXPECT_EQ(in("small_limits")["worker descriptors"], "64  ");
  // SIGHUP is 1, SIGCHLD is 17.
  EXPECT_THAT(in("deaf")["root ignored"], testing::EndsWith("10001"));
  EXPECT_EQ(in("stranger", 1)["strangers"], "0");
  EXPECT_EQ(in("stranger", 1)["strangers after an operation"], "1");
}

TEST_F(Ambients, of_closed_descriptors_tell_a_message_in_a_file_of_the_users_E1) {
  constexpr const char* claim = "E1: 0, 1 and 2 are the program's, whatever it has closed";
  auto seen = in("closed", 1);
  EXPECT_THAT(seen["standard error after an operation"], testing::HasSubstr("users"));
  EXPECT_FALSE(seen.contains(claim));
  EXPECT_THAT(in("closed", 2)[claim], testing::HasSubstr("a message is in the file of the user"));
  EXPECT_FALSE(in("exec", 2).contains(claim));
}

TEST_F(Ambients, of_a_pid_namespace_begins_and_ends_with_process_1) {
  if (is_possible(*ambient_named("pid_namespace"))) {
    EXPECT_NE(in("exec")["root process"], "1");
    auto seen = in("pid_namespace");
    EXPECT_EQ(seen["root process"], "1");
    // No process waits for it: it dies with the root.
    EXPECT_TRUE(in("exec").contains("child process"));
    EXPECT_FALSE(seen.contains("child process"));
  }
}

TEST_F(Ambients, of_an_ordinary_user_is_one_for_roles_and_for_what_the_product_starts) {
  const Ambient& ordinary = *ambient_named("ordinary_user");
  if (is_possible(ordinary)) {
    for (const char* const role : {"root", "child", "worker"}) {
      EXPECT_THAT(in("ordinary_user")[role + std::string(" user")],
                  testing::HasSubstr("65534\t65534"));
    }
    EXPECT_THAT(in("exec")["root user"], testing::StartsWith("0\t0"));
  }
}

TEST_F(Ambients, have_names_that_differ) {
  std::set<std::string_view> names;
  for (const Ambient& each : ambients()) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
    EXPECT_EQ(ambient_named(each.name), &each);
  }
  EXPECT_EQ(ambient_named("nowhere"), nullptr);
}

}  // namespace
}  // namespace lastref::harness

int main(int count, char** arguments) {
  const std::span<const char* const> all(arguments, static_cast<std::size_t>(count));
  if (all.size() > 1 && std::string_view(all[1]) == lastref::harness::born_argument) {
    return lastref::harness::become_process_of_run(
        all.subspan(2), lastref::harness::toys(), lastref::harness::product_entries());
  }
  testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
