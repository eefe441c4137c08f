// judges_test: what is said of a program that hangs, crashes, or leaves more than names behind.
#include <fcntl.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>
#include <string>

#include <gmock/gmock.h>

#include "harness/kernel/patience.hpp"
#include "harness/warden/locks.hpp"
#include "harness/warden/stillness.hpp"
#include "harness/warden/sysv.hpp"
#include "property_tests/harness/warden/watched.hpp"

namespace lastref::harness::warden {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Judges : public WardenTest {};

TEST_F(Judges, a_tree_whose_threads_wait_for_each_other_hangs) {
  const pretend::FreshFolder folder;
  const Watched watched = script("mkfifo " + folder.path() + "/f; cat " + folder.path() + "/f");
  ASSERT_THAT(watched.hung, SizeIs(2));
  EXPECT_EQ(watched.hung[0].role, "root");
  EXPECT_EQ(watched.hung[0].waiting.call, "wait4");
  EXPECT_EQ(watched.hung[1].role, "child.2");
  EXPECT_EQ(watched.hung[1].waiting.call, "openat");
  EXPECT_TRUE(watched.root_was_killed);
  EXPECT_FALSE(watched.is_too_long);
  empty(folder);
}

TEST_F(Judges, a_program_that_is_stopped_and_forgotten_hangs) {
  const Watched watched = script("kill -STOP $$");
  ASSERT_THAT(watched.hung, SizeIs(1));
  EXPECT_EQ(watched.hung[0].waiting.call, "a stop");
}

TEST_F(Judges, a_program_may_take_too_long) {
  const Watched watched = must({.command = {"/bin/sh", "-c", "while :; do :; done"},
                                .time_limit = std::chrono::milliseconds(1)});
  EXPECT_TRUE(watched.is_too_long);
  EXPECT_THAT(watched.hung, Contains(Field(&Hung::role, "root")));
}

/// Of a child that does this, when it does it.
class AtRest : public testing::Test {
 protected:
  /// Whether all of it waits, and for nobody else.
  bool waits(void (*does)(int), int argument = -1, const std::set<std::string>& outside = {}) {
    const int child = ::fork();
    if (child == 0) {
      does(argument);
      ::_exit(0);
    }
    while (doing_of(std::vector<os::Pid>{child}).could_go_on) {
    }
    // It may wait for something else before it does what it is to do.
    bool is_waiting = all_waiting({child}, outside).has_value();
    for (int look = 0; look < 20; ++look) {
      is_waiting = all_waiting({child}, outside).has_value();
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    return is_waiting;
  }
};

TEST_F(AtRest, who_sleeps_or_waits_with_a_limit_goes_on) {
  EXPECT_FALSE(waits([](int) {
    timeval long_time{.tv_sec = 1000, .tv_usec = 0};
    ::select(0, nullptr, nullptr, nullptr, &long_time);
  }));
  EXPECT_FALSE(waits([](int) { ::poll(nullptr, 0, 1'000'000); }));
  EXPECT_FALSE(waits([](int) { ::pause(); }));
}

TEST_F(AtRest, who_reads_from_nobody_does_not) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto reads = [](int from) {
    char byte = 0;
    static_cast<void>(::read(from, &byte, 1));
  };
  EXPECT_TRUE(waits(reads, ends[0]));
  // Others are at the other end of what it was started with.
  const std::string name = "/proc/self/fd/" + std::to_string(ends[0]);
  char text[64] = {};
  ASSERT_GT(::readlink(name.c_str(), text, sizeof text - 1), 0);
  EXPECT_FALSE(waits(reads, ends[0], {text}));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(Judges, a_signal_of_a_broken_program_is_a_crash) {
  const Watched watched = script("kill -SEGV $$");
  ASSERT_THAT(watched.crashes, SizeIs(1));
  EXPECT_EQ(watched.crashes[0].role, "root");
  EXPECT_EQ(watched.crashes[0].signal, SIGSEGV);
  EXPECT_THAT(script("kill -TERM $$").crashes, IsEmpty());
  EXPECT_THAT(script("exit 0", {"root/exit_group kill"}).crashes, IsEmpty());
}

TEST_F(Judges, what_outlives_the_program_tells_its_locks) {
  const pretend::FreshFolder folder;
  folder.write("lock", "");
  const std::string lock = folder.path() + "/lock";
  const auto watched = watch({.command = {"/bin/sh",
                                          "-c",
                                          "exec 9>" + lock +
                                              "; flock 9; (while :; do :; done) 9>&- & "
                                              "exec 9>&-; flock " +
                                              lock + " sh -c ': > " + folder.path() +
                                              "/held; while :; do :; done' & while ! test -e " +
                                              folder.path() + "/held; do :; done"},
                              .grace = std::chrono::milliseconds(1)});
  ASSERT_TRUE(watched);
  EXPECT_THAT(watched->stayed, Contains(Field(&Stayed::locks, ElementsAre(lock))));
  EXPECT_THAT(watched->stayed, Contains(Field(&Stayed::locks, IsEmpty())));
  empty(folder);
}

TEST_F(Judges, objects_of_system_v_are_left_behind) {
  const Watched watched = script("ipcmk -M 100 >/dev/null; ipcmk -S 1 >/dev/null; exec ipcmk -Q");
  ASSERT_THAT(watched.leftovers, SizeIs(3));
  for (const Leftover& each : watched.leftovers) {
    EXPECT_EQ(each.kind, "System V");
    EXPECT_THAT(each.maker, HasSubstr(each.path.substr(0, 3) + "get"));
    EXPECT_TRUE(is_there(each.path));
    remove_sysv(each.path);
  }
}

TEST_F(Judges, what_nobody_may_have_who_is_watched_is_told) {
  for (const char* const name : {"io_uring_setup", "seccomp"}) {
    const Watched watched = must({.command = {WARDEN_CALLS, name, "/"}});
    ASSERT_THAT(watched.blind, SizeIs(1)) << name;
    EXPECT_THAT(watched.blind[0], HasSubstr("root (warden_calls) asked "));
  }
}

TEST_F(Judges, descriptors_that_it_was_given_are_told) {
  const int given = ::open("/dev/null", O_RDONLY);
  const Watched watched = script("exit 0");
  EXPECT_THAT(watched.inherited, Contains(std::to_string(given) + " (/dev/null)"));
  ::close(given);
}

}  // namespace
}  // namespace lastref::harness::warden
