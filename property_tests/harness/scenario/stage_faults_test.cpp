// stage_faults_test: faults other than one death or one error of a process, in both worlds.
#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/owners.hpp>

#include "harness/explore/matrix.hpp"
#include "property_tests/harness/scenario/stage_pipes.hpp"
#include "property_tests/harness/scenario/stage_worlds.hpp"

namespace lastref::harness {
namespace {

// Death in the middle of a write.

Status writer(Stage& stage) {
  os::Os& os = stage.os();
  const auto file = os.open(stage.folder() + "/file", {.write = true, .create = true});
  static_cast<void>(os.write(*file, os::bytes_of("a")));
  static_cast<void>(os.write(*file, os::bytes_of("bcdef")));
  return os.close(*file);
}

/// Reports what the writer has left.
Status heir(Stage& stage) {
  LASTREF_CHECK(stage.start("writer"));
  stage.wait_for_quiet();
  const std::string path = stage.folder() + "/file";
  LASTREF_TRY(file, os::open_file(stage.os(), path, {}));
  stage.refute("toy: left", read_all(stage.os(), file.get()));
  return stage.os().unlink(path);
}

// Processes of one role, one after the other.

Status closer(Stage& stage) {
  os::Os& os = stage.os();
  const Status removed = os.remove_folder(stage.folder() + "/nothing");
  if (!failed_with(removed, std::errc::no_such_file_or_directory)) {
    stage.refute("toy: another error", stage.role());
  }
  return ok();
}

Status closers_root(Stage& stage) {
  for (int child = 0; child < 3; ++child) {
    LASTREF_CHECK(stage.start("closer"));
    stage.wait_for_quiet();
  }
  return ok();
}

// Time.

constexpr std::chrono::hours limit{1};

/// For each of three waits: whether it timed out, although a child was about to write.
Status listener(Stage& stage) {
  os::Os& os = stage.os();
  std::string waits;
  for (int wait = 0; wait < 3; ++wait) {
    auto [read, write] = make_pipe(os);
    const auto child = os.spawn({.entry = "speaker",
                                 .arguments = {},
                                 .fds = {{.here = write.get(), .number_there = 3}},
                                 .blocked = {}});
    write.close_quietly();
    os::PollItem item{.fd = read.get(), .want_read = true};
    const os::Instant before = os.now();
    const auto ready = os.poll(std::span(&item, 1), limit);
    waits += ready != std::size_t{0} ? 'r' : os.now() - before >= limit ? 'l' : '?';
    expect(stage, read_all(os, read.get()) == "a", "the child lives");
    expect(stage, end_of(stage, child->process) == os::ChildExit{}, "and ends");
    static_cast<void>(os.close(child->process));
  }
  stage.refute("toy: waits", waits);
  return ok();
}

Status speaker(Stage& stage) {
  const os::UniqueFd write(stage.os(), os::Fd{3});
  say(stage.os(), write.get(), "a");
  return ok();
}

// Waiting that no world can detect.

Status maker(Stage& stage) {
  static_cast<void>(stage.os().remove_folder(stage.folder() + "/nothing"));
  LASTREF_TRY(file,
              os::open_file(stage.os(), stage.folder() + "/made", {.write = true, .create = true}));
  return file.close();
}

/// Checks repeatedly for a file that another role is to make.
Status looker(Stage& stage) {
  LASTREF_CHECK(stage.start("maker"));
  const std::string path = stage.folder() + "/made";
  while (!stage.os().status_at(path)) {
  }
  return stage.os().unlink(path);
}

const std::vector<Scenario>& toys_of_faults() {
  static const std::vector<Scenario> all = {
      toy("heir", {{"root", heir}, {"writer", writer}}),
      toy("closers", {{"root", closers_root}, {"closer", closer}}),
      toy("listener", {{"root", listener}, {"speaker", speaker}}),
      toy("looker", {{"root", looker}, {"maker", maker}}),
  };
  return all;
}

class StageFaults : public StageWorlds {
 protected:
  StageFaults() : StageWorlds(toys_of_faults()) {}
};

INSTANTIATE_TEST_SUITE_P(Worlds, StageFaults, testing::ValuesIn(both_worlds()), name_of_row);

TEST_P(StageFaults, a_kill_amid_a_write_leaves_half_of_its_bytes) {
  const auto left = [&](const char* fault) {
    const Outcome outcome =
        run("heir", {.faults = {parse_fault(fault).value()}, .choices = {}, .seed = {}});
    const auto found = std::ranges::find(outcome.findings, "toy: left", &Finding::claim);
    return std::pair(found == outcome.findings.end() ? "nothing" : found->seen, outcome.kills);
  };
  EXPECT_EQ(left("writer/write(file)#2 kill_before"), std::pair(std::string("a"), 1U));
  EXPECT_EQ(left("writer/write(file)#2 kill_amid"), std::pair(std::string("abc"), 1U));
  EXPECT_EQ(left("writer/write(file)#2 kill_after"), std::pair(std::string("abcdef"), 1U));
  // A single byte is written or not.
  EXPECT_EQ(left("writer/write(file)#1 kill_amid"), std::pair(std::string("abcdef"), 0U));
}

TEST_P(StageFaults, what_fails_in_all_fails_in_those_that_are_started_later_as_well) {
  const auto others = [&](const char* fault) {
    std::vector<std::string> roles;
    for (const Finding& finding :
         run("closers", {.faults = {parse_fault(fault).value()}, .choices = {}, .seed = {}})
             .findings) {
      roles.push_back(finding.seen);
    }
    return roles;
  };
  using Roles = std::vector<std::string>;
  EXPECT_EQ(others("closer/remove_folder(nothing)#1 fail_always EBUSY"), Roles{"closer"});
  EXPECT_EQ(others("closer/remove_folder(nothing)#1 fail_in_all EBUSY"),
            (Roles{"closer", "closer#2", "closer#3"}));
  EXPECT_EQ(others("closer#2/remove_folder(nothing)#1 fail_in_all EBUSY"),
            (Roles{"closer#2", "closer#3"}));
}

TEST_P(StageFaults, a_limit_ends_early_once_or_from_now_on_unless_something_is_ready) {
  const auto waits = [&](const Plan& plan) {
    const Outcome outcome = run("listener", plan);
    const auto found = std::ranges::find(outcome.findings, "toy: waits", &Finding::claim);
    return std::pair(found == outcome.findings.end() ? "none" : found->seen, outcome.faults_fired);
  };
  std::vector<Fault> timeouts;
  for (const Fault& fault :
       matrix_of(run("listener", {.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true})
                     .crossings)) {
    if (is_early_timeout(fault.kind)) {
      timeouts.push_back(fault);
    }
  }
  ASSERT_EQ(timeouts.size(), 6U) << "two for each wait with a limit, and none for those without";
  const char* const in_vain[] = {"lrr", "lll", "rlr", "rll", "rrl", "rrl"};
  for (std::size_t at = 0; at < timeouts.size(); ++at) {
    EXPECT_EQ(waits({.faults = {timeouts[at]}, .choices = {}, .seed = {}}),
              std::pair(std::string(in_vain[at]), 1U))
        << to_text(timeouts[at]);
  }
  // A wait without a limit cannot time out.
  EXPECT_EQ(
      waits({.faults = {parse_fault("root/poll()#2 time_out").value()}, .choices = {}, .seed = {}}),
      std::pair(std::string("rrr"), 0U));
}

TEST_P(StageFaults, a_limit_may_end_early_by_chance_and_does_again_by_its_choices) {
  const auto waits = [](const Outcome& outcome) {
    const auto found = std::ranges::find(outcome.findings, "toy: waits", &Finding::claim);
    return found == outcome.findings.end() ? "none" : found->seen;
  };
  std::size_t early = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Outcome outcome = run("listener", {.faults = {}, .choices = {}, .seed = seed});
    EXPECT_EQ(outcome.faults_fired, 0U);
    const Outcome again = run("listener", {.faults = {}, .choices = outcome.choices, .seed = {}});
    EXPECT_EQ(waits(again), waits(outcome)) << to_text(outcome.choices);
    early += waits(outcome).find('l') == std::string::npos ? 0U : 1U;
  }
  EXPECT_GT(early, 0U);
  EXPECT_LT(early, 40U);
}

TEST_P(StageFaults, a_pause_ends_when_nobody_else_does_more_than_look_again) {
  const auto findings = [&](const char* fault) {
    return run("looker", {.faults = {parse_fault(fault).value()}, .choices = {}, .seed = {}})
        .findings;
  };
  EXPECT_THAT(findings("maker/remove_folder(nothing)#1 pause"), testing::IsEmpty());
  // Waiting for a role that does not create the file any more is in vain.
  EXPECT_THAT(findings("maker/remove_folder(nothing)#1 kill_after"),
              testing::Contains(testing::Field(&Finding::claim, testing::HasSubstr("no-hang"))));
}

}  // namespace
}  // namespace lastref::harness
