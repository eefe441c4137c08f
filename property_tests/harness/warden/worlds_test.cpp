// worlds_test: programs in namespaces of their own, and that they are reported on like others.
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <string>

#include <gmock/gmock.h>

#include "property_tests/harness/warden/watched.hpp"

namespace lastref::harness::warden {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class OneProcessor : public WardenTest {};

TEST_F(OneProcessor, is_shared_and_told_where_the_kernel_has_no_turns) {
  cpu_set_t before{};
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  const pretend::FreshFolder folder;
  const auto run = [&](bool may_wake_in_turn) {
    return must({.command = {"/bin/sh", "-c", "(nproc) > " + folder.path("said")},
                 .may_wake_in_turn = may_wake_in_turn});
  };
  const Watched alone = run(false);
  EXPECT_EQ(folder.read("said"), "1\n");
  ASSERT_TRUE(alone.processor);
  EXPECT_TRUE(CPU_ISSET(static_cast<std::size_t>(*alone.processor), &before));
  cpu_set_t after{};
  ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  if (!run(true).processor) {
    EXPECT_EQ(folder.read("said"), std::to_string(CPU_COUNT(&before)) + "\n");
  }
  empty(folder);
}

/// In a pid namespace.
class OwnPids : public WardenTest {
 protected:
  void SetUp() override {
    WardenTest::SetUp();
    if (!IsSkipped() && !watch(options("exit 0"))) {
      GTEST_SKIP() << "no pid namespace here";
    }
  }
  void TearDown() override { empty(folder); }

  static WatchOptions options(const std::string& text) {
    return {.command = {"/bin/sh", "-c", text}, .has_own_pids = true};
  }
  Watched inside(const std::string& text, const std::vector<std::string>& texts = {}) const {
    WatchOptions with = options("cd " + folder.path() + "; " + text);
    with.faults = faults(texts);
    return must(with);
  }

  pretend::FreshFolder folder;
};

TEST_F(OwnPids, are_what_the_program_sees_and_we_see_ours) {
  const Watched watched =
      inside("cd /proc; echo $$ $PPID [0-9]* > " + folder.path("said") + "; (: > /proc/self/comm)");
  EXPECT_EQ(folder.read("said"), "2 0 1 2\n");
  ASSERT_THAT(watched.processes, SizeIs(2));
  EXPECT_EQ(watched.processes[0].role, "root");
  EXPECT_EQ(watched.processes[0].title, "sh");
  EXPECT_GT(watched.processes[0].process, 2);
  EXPECT_EQ(watched.processes[1].role, "child.1");
  EXPECT_EQ(watched.perturbed, 0U);
  EXPECT_EQ(watched.root, os::ChildExit{});
}

TEST_F(OwnPids, are_others_in_the_next_run) {
  for (int run = 0; run < 3; ++run) {
    EXPECT_EQ(inside("exit $$").root.code, 2);
  }
}

TEST_F(OwnPids, leave_names_faults_and_ends_as_they_are) {
  const Watched watched =
      inside("mkdir a; mkdir b; kill -TERM $$", {"child.2/mkdir fail_once ENOSPC"});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  EXPECT_THAT(watched.leftovers, ElementsAre(Field(&Leftover::path, folder.path("a"))));
  EXPECT_EQ(watched.root, (os::ChildExit{.code = SIGTERM, .killed = true}));
  const Watched killed =
      inside("sleep 1000 & /bin/true; wait", {"child.2/execve(*/true)#1 kill_before whole_tree"});
  EXPECT_EQ(killed.root, (os::ChildExit{.code = SIGKILL, .killed = true}));
  EXPECT_THAT(killed.stayed, IsEmpty());
}

TEST_F(OwnPids, give_orphans_to_process_one_and_their_ends_are_told) {
  const Watched watched =
      inside("(sh -c 'while ! grep -q ^PPid:.1$ /proc/$$/status; do :; done; kill -SEGV $$' &)");
  ASSERT_THAT(watched.crashes, SizeIs(1));
  EXPECT_THAT(watched.crashes[0].role, StartsWith("child.1"));
  EXPECT_EQ(watched.crashes[0].signal, SIGSEGV);
  EXPECT_THAT(watched.stayed, IsEmpty());
}

TEST_F(OwnPids, do_not_hide_who_stays) {
  // A shell would reap its child, so the child ends after the shell has executed another program.
  const std::string leaves_zombie =
      "sh -c '(until grep -q sleep /proc/$$/comm; do :; done) & echo $! > z; exec sleep 1000' & ";
  WatchOptions with = options("cd " + folder.path() + "; : > z; " + leaves_zombie +
                              "until grep -qs ^State:.Z /proc/$(cat z)/status; do :; done; rm z");
  with.grace = std::chrono::milliseconds(1);
  const Watched watched = must(with);
  ASSERT_THAT(watched.stayed, SizeIs(2));
  EXPECT_EQ(std::ranges::count(watched.stayed, true, &Stayed::is_zombie), 1);
  EXPECT_THAT(watched.stayed[0].process.role, StartsWith("child.1"));
  EXPECT_EQ(watched.root, os::ChildExit{});
}

TEST_F(OwnPids, are_judged_when_they_hang) {
  const Watched watched = inside(WARDEN_CALLS " rest 'own pipe'; exit 0");
  ASSERT_THAT(watched.hung, SizeIs(2));
  EXPECT_EQ(watched.hung[1].role, "child.1");
}

}  // namespace
}  // namespace lastref::harness::warden
