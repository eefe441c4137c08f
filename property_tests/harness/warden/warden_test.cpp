// warden_test: programs that are watched from outside. A tiny program makes each call that the
// warden knows: the call must be seen, failed, and killed before and after it.
#include "harness/warden/warden.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/warden/self_test.hpp"
#include "harness/warden/syscalls.hpp"
#include "property_tests/harness/warden/watched.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::harness::warden {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

constexpr os::ChildExit by_sigkill = {.code = SIGKILL, .killed = true};

class Warden : public WardenTest {};

TEST_F(Warden, sees_each_call_that_it_knows_fails_it_and_kills_before_and_after_it) {
  const SelfTest test = self_test(WARDEN_CALLS);
  EXPECT_EQ(test.calls, syscalls().size());
  EXPECT_THAT(test.complaints, IsEmpty());
}

TEST_F(Warden, complains_of_a_program_that_makes_no_calls) {
  const SelfTest test = self_test("/bin/true");
  const auto about_flock = std::ranges::find_if(
      test.complaints, [](const std::string& each) { return each.starts_with("flock: "); });
  ASSERT_NE(about_flock, test.complaints.end());
  pretend::expect_transcript(*about_flock);
}

TEST_F(Warden, says_who_made_what_was_left_behind) {
  const pretend::FreshFolder folder;
  const Watched watched = script("cd " + folder.path() +
                                 "; : > kept; (: > ours; mv ours moved); : > gone; rm gone; "
                                 "ln -s nowhere link; mkdir below; wait");
  EXPECT_EQ(watched.root, os::ChildExit{});
  const std::string start = folder.path() + '/';
  EXPECT_THAT(watched.leftovers, SizeIs(4));
  EXPECT_THAT(watched.leftovers,
              Contains(Leftover{start + "kept", "file", "root/openat(" + start + "kept)#1"}));
  EXPECT_THAT(watched.leftovers,
              Contains(Leftover{start + "moved", "file", "child.1/openat(" + start + "ours)#1"}));
  EXPECT_THAT(watched.leftovers, Contains(Field(&Leftover::kind, "symlink")));
  EXPECT_THAT(watched.leftovers, Contains(Field(&Leftover::kind, "folder")));
  empty(folder);
}

TEST_F(Warden, does_not_blame_anybody_for_what_was_there) {
  const pretend::FreshFolder folder;
  folder.write("before", "bytes");
  const Watched watched =
      script("cd " + folder.path() + "; echo more >> before; : > new; mv new before");
  EXPECT_THAT(watched.leftovers, IsEmpty());
  empty(folder);
}

TEST_F(Warden, numbers_children_in_the_order_of_their_births) {
  for (int run = 0; run < 5; ++run) {
    const Watched watched = script("/bin/true; (/bin/true; /bin/true; :); /bin/cat /dev/null");
    std::vector<std::string> seen;
    for (const ProcessSeen& each : watched.processes) {
      seen.push_back(each.role + ' ' + each.title);
    }
    EXPECT_THAT(seen,
                ElementsAre("root sh",
                            "child.1 true",
                            "child.2 sh",
                            "child.2.1 true",
                            "child.2.2 true",
                            "child.3 cat"));
  }
}

TEST_F(Warden, strikes_the_kth_call_of_one_process) {
  const pretend::FreshFolder folder;
  const Watched watched =
      script("cd " + folder.path() + "; (: > a; : > b; : > c); (: > d; : > e; : > f); exit 0",
             {"child.2/openat(" + folder.path() + "/*)#2 fail_once ENOSPC"});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  const auto names = folder.names();
  EXPECT_THAT(names, Contains("c"));
  EXPECT_THAT(names, Contains("d"));
  EXPECT_THAT(names, testing::Not(Contains("e")));
  empty(folder);
}

TEST_F(Warden, ends_who_outlives_the_root_for_too_long) {
  const auto watched = watch({.command = {"/bin/sh", "-c", "sleep 1000 &"},
                              .faults = {},
                              .grace = std::chrono::milliseconds(1)});
  ASSERT_TRUE(watched);
  ASSERT_THAT(watched->stayed, SizeIs(1));
  EXPECT_EQ(watched->stayed.front().process.role, "child.1");
  EXPECT_FALSE(watched->stayed.front().is_zombie);
}

TEST_F(Warden, keeps_a_call_while_others_go_on) {
  const pretend::FreshFolder folder;
  int asked = 0;
  const auto second_is_there = [&](const Moment& moment) {
    return moment.call.object != folder.path("first") ||
           (++asked > 1 && folder.exists("second") && moment.names.there().size() == 1);
  };
  const Watched watched = must({.command = {"/bin/sh",
                                            "-c",
                                            "(: > " + folder.path("first") + ") & (: > " +
                                                folder.path("second") + ") & wait"},
                                .may_be_made = second_is_there});
  EXPECT_EQ(watched.root, os::ChildExit{});
  EXPECT_THAT(watched.hung, IsEmpty());
  EXPECT_THAT(watched.leftovers, SizeIs(2));
  empty(folder);
}

TEST_F(Warden, kills_a_whole_tree) {
  const Watched watched =
      script("sleep 1000 & /bin/true; wait", {"child.2/execve(*/true)#1 kill_before whole_tree"});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  EXPECT_EQ(watched.root, by_sigkill);
  EXPECT_THAT(watched.stayed, IsEmpty());
}

TEST_F(Warden, says_why_a_program_cannot_be_run) {
  for (const char* program : {"/no/such", "no_such_program", "/etc/passwd"}) {
    const auto watched = watch({.command = {program}, .faults = {}});
    ASSERT_FALSE(watched) << program;
    EXPECT_THAT(watched.error().subject, program);
  }
}

}  // namespace
}  // namespace lastref::harness::warden
