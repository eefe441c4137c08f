// judges_test: the reports on a program that hangs, crashes, or leaves more than names.
#include <fcntl.h>
#include <mqueue.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "harness/platform/child_process.hpp"
#include "harness/platform/proc.hpp"
#include "harness/warden/hang_detector.hpp"
#include "harness/warden/leftover_lines.hpp"
#include "harness/warden/locks.hpp"
#include "harness/warden/program_evidence.hpp"
#include "harness/warden/sysv.hpp"
#include "harness/warden/sysv_makers.hpp"
#include "harness/warden/user_command.hpp"
#include "property_tests/harness/warden/watched.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::harness::warden {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class Judges : public WardenTest {};

TEST_F(Judges, a_tree_whose_threads_wait_for_each_other_hangs) {
  const Watched watched = script(WARDEN_CALLS " rest 'own pipe'; exit 0");
  ASSERT_THAT(watched.hung, SizeIs(2));
  EXPECT_EQ(watched.hung[0].role, "root");
  EXPECT_EQ(watched.hung[0].waiting.call, "wait4");
  EXPECT_EQ(watched.hung[1].role, "child.1");
  EXPECT_EQ(watched.hung[1].waiting.call, "read");
  EXPECT_TRUE(watched.root_was_killed);
  EXPECT_FALSE(watched.is_too_long);
}

TEST_F(Judges, a_shell_that_waits_for_who_hangs_hangs) {
  const Watched watched = script(WARDEN_CALLS " rest 'own pipe' & wait");
  ASSERT_THAT(watched.hung, SizeIs(2));
  EXPECT_EQ(watched.hung[0].waiting.call, "rt_sigsuspend");
  EXPECT_EQ(watched.hung[1].waiting.object, "pipe");
}

TEST_F(Judges, two_that_wait_for_each_others_locks_hang) {
  const pretend::FreshFolder folder;
  const std::string locks = "cd " + folder.path() + "; : > a; : > b; ";
  const auto holds = [](const std::string& first, const std::string& second) {
    return "flock " + first + " sh -c ': > has_" + first + "; while ! test -e has_" + second +
           "; do :; done; flock " + second + " true'";
  };
  const Watched watched = script(locks + holds("a", "b") + " & " + holds("b", "a") + "; wait");
  EXPECT_THAT(watched.hung, Contains(Field(&Hung::waiting, Field(&Waiting::call, "flock"))));
  EXPECT_FALSE(watched.is_too_long);
  empty(folder);
}

TEST_F(Judges, a_program_may_take_too_long) {
  const Watched watched = must({.command = {"/bin/sh", "-c", "while :; do :; done"},
                                .time_limit = std::chrono::milliseconds(1)});
  EXPECT_TRUE(watched.is_too_long);
  EXPECT_THAT(watched.hung, Contains(Field(&Hung::role, "root")));
}

/// A program at the moment when it waits.
class AtRest : public testing::Test {
 protected:
  /// Whether it waits for events that only it, or its child, could cause.
  bool waits(const std::string& how, Tree tree = {}, bool has_clock = false) const {
    const int child = start_child([&] {
      ::dup2(pipe_[0].get(), STDIN_FILENO);
      return ::execl(WARDEN_CALLS, WARDEN_CALLS, "rest", how.c_str(), nullptr);
    });
    while (!rests(child)) {
      if (is_dead(child, std::chrono::milliseconds(0))) {
        ADD_FAILURE() << how << " does not wait";
        return false;
      }
    }
    tree.processes = tree_of(child);
    tree.ever = {tree.processes.begin(), tree.processes.end()};
    tree.clocks = has_clock ? tree.ever : std::set<int>();
    const auto all = all_waiting(tree);
    const bool is_hang = all && !is_held_outside(ends_of(*all), tree.processes);
    std::ranges::for_each(tree.processes, [](int process) { ::kill(process, SIGKILL); });
    reap(child);
    return is_hang;
  }
  std::string its_input() const { return descriptor_at(::getpid(), pipe_[0].get()); }

 private:
  static std::vector<int> tree_of(int process) {
    std::vector<int> tree = children_of(process);
    tree.insert(tree.begin(), process);
    return tree;
  }
  /// Its start also reads, but from files.
  static bool rests(int process) {
    const std::vector<int> tree = tree_of(process);
    const auto all = what_all_do(tree);
    const auto loads = [](const Waiting& each) {
      return each.call == "read" && each.object.starts_with('/');
    };
    return all_blocked(all) && std::ranges::none_of(all, loads) &&
           executable_of(process) == WARDEN_CALLS && tree_of(process) == tree;
  }

  FdPair pipe_ = make_pipe();
};

TEST_F(AtRest, who_sleeps_or_waits_with_a_limit_goes_on) {
  EXPECT_FALSE(waits("select"));
  EXPECT_FALSE(waits("poll"));
  EXPECT_FALSE(waits("pause"));
}

TEST_F(AtRest, who_waits_for_a_word_that_only_its_children_share_does_not) {
  EXPECT_TRUE(waits("futex"));
}

TEST_F(AtRest, who_reads_from_nobody_does_not) {
  EXPECT_TRUE(waits("own pipe"));
  EXPECT_FALSE(waits("own pipe", {}, /*has_clock=*/true));
  EXPECT_FALSE(waits("read"));  // We have the other end of its input.
  EXPECT_FALSE(waits("read", {.outside = {its_input()}}));
}

TEST_F(AtRest, who_waits_for_what_only_its_tree_has_does_not_go_on) {
  for (const char* const call : {"read", "poll", "ppoll", "select", "pselect6", "epoll_wait"}) {
    for (const char* const object : {"pipe", "socket", "eventfd", "SIGCHLD"}) {
      EXPECT_TRUE(waits(fmt::format("{} {}", call, object))) << call << ' ' << object;
    }
    for (const char* const object : {"input", "socket with limit", "datagram", "SIGUSR1"}) {
      EXPECT_FALSE(waits(fmt::format("{} {}", call, object))) << call << ' ' << object;
    }
  }
  EXPECT_TRUE(waits("poll child"));
  EXPECT_FALSE(waits("poll parent"));
  EXPECT_TRUE(waits("sigwait SIGCHLD"));
  EXPECT_FALSE(waits("sigwait SIGUSR1"));
}

TEST_F(AtRest, who_waits_for_what_it_was_started_with_goes_on) {
  EXPECT_FALSE(waits("poll eventfd", {.outside = {"anon_inode:[eventfd]"}}));
}

TEST_F(AtRest, who_waits_for_its_own_semaphore_does_not_go_on) {
  SysvMakers makers;
  makers.makes({.kind = "sem", .key = IPC_PRIVATE, .maker = "root/semget()#1"});
  const int own = ::semget(IPC_PRIVATE, 1, S_IRUSR | S_IWUSR);
  const std::set<int> known = makers.own_semaphores();
  const int other = ::semget(IPC_PRIVATE, 1, S_IRUSR | S_IWUSR);
  EXPECT_EQ(known, makers.own_semaphores());
  EXPECT_TRUE(waits(fmt::format("semop {}", own), {.semaphores = known}));
  EXPECT_FALSE(waits(fmt::format("semop {}", other), {.semaphores = known}));
  ::semctl(own, 0, IPC_RMID);
  ::semctl(other, 0, IPC_RMID);
}

TEST_F(AtRest, who_waits_for_a_lock_of_its_own_descriptor_does_not_go_on) {
  EXPECT_TRUE(waits("lock"));
}

TEST_F(Judges, who_waits_for_a_lock_of_one_that_is_gone_hangs) {
  const pretend::FreshFolder folder;
  // The shell has the descriptor with the lock, and the kernel records only the pid of the process
  // that took it.
  const Watched watched = script("cd " + folder.path() + "; exec 9>a; flock 9; flock a true; true");
  EXPECT_THAT(watched.hung, Contains(Field(&Hung::waiting, Field(&Waiting::call, "flock"))));
  EXPECT_FALSE(watched.is_too_long);
  empty(folder);
}

TEST_F(Judges, what_others_cannot_reach_is_not_open_to_them) {
  const pretend::FreshFolder folder;
  const auto opened = [&](const std::string& rights) {
    return script("cd " + folder.path() + "; umask 0; chmod 755 .; mkdir -m " + rights +
                  " f; : > f/a; rm f/a; rmdir f")
        .open_to_others;
  };
  EXPECT_THAT(opened("700"), IsEmpty());
  EXPECT_THAT(opened("755"), ElementsAre(Field(&Leftover::path, folder.path() + "/f/a")));
}

TEST_F(Judges, who_waits_for_a_lock_of_others_goes_on) {
  const pretend::FreshFolder folder;
  folder.write("lock", "");
  const std::string lock = folder.path() + "/lock";
  UniqueFd file(::open(lock.c_str(), O_RDONLY | O_CLOEXEC));
  ::flock(file.get(), LOCK_EX);
  const int child = start_child(
      [&] { return ::execl("/usr/bin/flock", "flock", lock.c_str(), "true", nullptr); });
  std::vector<Waiting> all;
  while (all.size() != 1 || all[0].call != "flock") {
    all = what_all_do({child});
  }
  const auto its = descriptors_of(child);
  const auto at = std::ranges::find_if(its, [&](const auto& each) { return each.second == lock; });
  ASSERT_NE(at, its.end());
  const std::vector<Lock> locks = locks_awaited(child, at->first);
  ASSERT_THAT(locks, SizeIs(1));
  EXPECT_EQ(locks[0].process, ::getpid());
  EXPECT_FALSE(all_waiting({.processes = {child}}));
  file.reset();
  reap(child);
  empty(folder);
}

TEST_F(Judges, a_signal_of_a_broken_program_is_a_crash) {
  const Watched watched = script("kill -SEGV $$");
  ASSERT_THAT(watched.crashes, SizeIs(1));
  EXPECT_EQ(watched.crashes[0].role, "root");
  EXPECT_EQ(watched.crashes[0].signal, SIGSEGV);
  EXPECT_THAT(script("kill -TERM $$").crashes, IsEmpty());
  EXPECT_THAT(script("exit 0", {"root/exit_group kill_before"}).crashes, IsEmpty());
}

TEST_F(Judges, a_crash_of_a_child_is_reported_where_the_kernel_tells_it) {
  const Watched watched = script("sh -c 'kill -SEGV $$'; sh -c 'kill -TERM $$'; exit 0");
  const bool is_told = watched.processes.at(1).wait_status.has_value();
  ASSERT_THAT(watched.crashes, SizeIs(is_told ? 1 : 0));
  if (is_told) {
    EXPECT_EQ(watched.crashes[0].role, "child.1");
    EXPECT_EQ(watched.crashes[0].signal, SIGSEGV);
  }
}

TEST_F(Judges, a_core_file_is_told) {
  const pretend::FreshFolder folder;
  const Watched watched = script("cd " + folder.path() + "; ulimit -c unlimited; kill -SEGV $$");
  EXPECT_THAT(watched.crashes, SizeIs(1));
  if (!folder.names().empty()) {  // Its limit and its pattern are those of this machine.
    EXPECT_THAT(watched.blind, ElementsAre(StartsWith("root left a core file")));
  }
  empty(folder);
}

TEST_F(Judges, names_in_a_mount_namespace_that_a_process_was_started_in_are_not_seen) {
  const Watched watched = script(WARDEN_CALLS " 'clone with mounts' /; exit $?");
  if (watched.root == os::ChildExit{.code = EPERM, .killed = false}) {
    GTEST_SKIP() << "no mount namespace may be made here";
  }
  EXPECT_EQ(watched.root, os::ChildExit{});
  EXPECT_THAT(watched.blind,
              ElementsAre("child.1.1 (warden_calls) is in another mount namespace than root: names "
                          "in it"));
}

TEST_F(Judges, a_program_may_clean_up_when_it_takes_too_long) {
  const pretend::FreshFolder folder;
  const Watched watched =
      must({.command = {"/bin/sh",
                        "-c",
                        "cd " + folder.path() +
                            "; trap 'rm a; exit 3' TERM; : > a; mkfifo b; exec 9<>b; read x <&9"},
            .time_limit = std::chrono::seconds(3)});
  EXPECT_TRUE(watched.is_too_long);
  EXPECT_EQ(watched.root, (os::ChildExit{.code = 3, .killed = false}));
  EXPECT_THAT(watched.leftovers, ElementsAre(Field(&Leftover::path, folder.path() + "/b")));
  empty(folder);
}

TEST_F(Judges, who_holds_what_a_hung_process_waits_for_is_told) {
  const pretend::FreshFolder folder;
  const Watched watched =
      script("cd " + folder.path() + "; exec 9>a; flock 9; flock a true; exit 0");
  ASSERT_THAT(watched.hung, Contains(Field(&Hung::waiting, Field(&Waiting::call, "flock"))));
  EXPECT_THAT(watched.hung, Contains(Field(&Hung::holders, ElementsAre("root", "child.2"))));
  const Watched other = script("true; " WARDEN_CALLS " rest 'poll pipe'; exit 0");
  EXPECT_THAT(other.hung, Contains(Field(&Hung::holders, ElementsAre("child.1"))));
  empty(folder);
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

TEST_F(Judges, what_outlives_the_program_tells_the_locks_that_it_inherited) {
  const pretend::FreshFolder folder;
  const auto watched = watch({.command = {"/bin/sh",
                                          "-c",
                                          "cd " + folder.path() +
                                              "; exec 9>a; flock 9; (while :; do :; done) & "
                                              "exit 0"},
                              .grace = std::chrono::milliseconds(1)});
  ASSERT_TRUE(watched);
  EXPECT_THAT(watched->stayed,
              ElementsAre(Field(&Stayed::locks, ElementsAre(folder.path() + "/a"))));
  empty(folder);
}

TEST_F(Judges, who_dies_as_a_call_was_taken_back_is_perturbed) {
  const pretend::FreshFolder folder;
  constexpr int tries = 100;
  int taken_back = 0;
  for (int run = 0; run < tries && taken_back < 3; ++run) {
    const Watched watched =
        must({.command = {WARDEN_CALLS, "unlink while a clock rings", folder.path()}});
    if (watched.root.killed) {
      ++taken_back;
      EXPECT_GT(watched.perturbed, 0U);
    }
    empty(folder);
  }
  EXPECT_GT(taken_back, 0);
}

TEST_F(Judges, who_is_killed_by_the_program_is_not_perturbed) {
  const pretend::FreshFolder folder;
  constexpr int tries = 20;
  for (int run = 0; run < tries; ++run) {
    const Watched watched = script("cd " + folder.path() +
                                   "; (: > started; while :; do : > a; done) & "
                                   "while ! test -e started; do :; done; kill $!; wait");
    const bool tells = watched.processes.back().wait_status.has_value();
    EXPECT_TRUE(watched.perturbed == 0 || !tells);
    empty(folder);
  }
}

TEST_F(Judges, a_message_queue_is_left_behind) {
  const Watched watched = must({.command = {WARDEN_CALLS, "leave a queue", "/"}});
  ASSERT_THAT(watched.leftovers, SizeIs(1));
  const std::string path = watched.leftovers[0].path;
  EXPECT_THAT(watched.leftovers[0].maker, StartsWith("root/mq_open(" + path));
  EXPECT_TRUE(is_there(path));
  EXPECT_EQ(::mq_unlink(path.substr(path.rfind('/')).c_str()), 0);
  EXPECT_FALSE(is_there(path));
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

std::vector<Leftover> sysv_of(const Watched& watched) {
  std::vector<Leftover> objects = watched.leftovers;
  std::erase_if(objects, [](const Leftover& each) { return each.kind != "System V"; });
  return objects;
}

TEST_F(Judges, each_object_of_system_v_has_its_maker) {
  const pretend::FreshFolder folder;
  const Watched watched = script("cd " + folder.path() +
                                 "; ipcmk -M 100 -S 1 -Q > 1 & ipcmk -M 100 -S 1 -Q > 2 & "
                                 "ipcmk -M 100 > 3 & ipcmk -S 1 > 4 & ipcmk -Q > 5 & wait");
  const std::vector<Leftover> objects = sysv_of(watched);
  EXPECT_THAT(objects, SizeIs(9));
  for (const Leftover& each : objects) {
    ASSERT_THAT(each.maker, StartsWith("child."));
    const std::string said = folder.read(each.maker.substr(6, 1));
    EXPECT_THAT(said, HasSubstr("id: " + each.path.substr(4) + "\n")) << each.maker;
    remove_sysv(each.path);
  }
  empty(folder);
}

TEST_F(Judges, an_object_of_system_v_of_another_program_is_none_of_the_tree) {
  const pretend::FreshFolder folder;
  const int child = start_child([&] {
    while (!is_there(folder.path() + "/made")) {
    }
    folder.write("other", std::to_string(::msgget(IPC_PRIVATE, 0600)));
    return 0;
  });
  const Watched watched = script("cd " + folder.path() +
                                 "; ipcmk -Q; : > made; while ! test -s other; do :; done; exit 0");
  reap(child);
  const std::string other = "msg:" + folder.read("other");
  const std::vector<Leftover> objects = sysv_of(watched);
  ASSERT_THAT(objects, SizeIs(1));
  EXPECT_NE(objects[0].path, other);
  EXPECT_THAT(objects[0].maker, StartsWith("child.1/msgget"));
  remove_sysv(objects[0].path);
  remove_sysv(other);
  empty(folder);
}

TEST_F(Judges, what_nobody_may_have_who_is_watched_is_told) {
  for (const char* const name : {"io_uring_setup", "seccomp"}) {
    const Watched watched = must({.command = {WARDEN_CALLS, name, "/"}});
    ASSERT_THAT(watched.refused, SizeIs(1)) << name;
    EXPECT_EQ(watched.refused[0].call, name);
    EXPECT_EQ(watched.refused[0].error, watched.root.code);
  }
}

TEST_F(Judges, who_watches_others_itself_is_told_by_its_role_and_its_program) {
  const Watched watched = script("for n in 1 2; do " WARDEN_CALLS " seccomp /; done; exit 0");
  ASSERT_THAT(watched.refused, SizeIs(2));
  EXPECT_EQ(watched.refused[1].role, "child.2");
  EXPECT_EQ(watched.refused[1].error, EBUSY);
  const std::string refusal = to_text(watched.refused[0]);
  EXPECT_THAT(refusal, HasSubstr(WARDEN_CALLS));
  pretend::expect_transcript(pretend::with_replacements(refusal, {{WARDEN_CALLS, "PROGRAM"}}));
}

TEST_F(Judges, calls_of_another_kind_are_told) {
  const pretend::FreshFolder folder;
  const Watched watched = must({.command = {WARDEN_CALLS, "a 32-bit call", folder.path()}});
  if (!watched.crashes.empty()) {
    GTEST_SKIP() << "this kernel has no calls of another kind";
  }
  EXPECT_EQ(watched.root.code, ENOSYS);
  ASSERT_THAT(watched.refused, SizeIs(1));
  const std::string refusal = to_text(watched.refused[0]);
  EXPECT_THAT(refusal, HasSubstr(" 20"));
  pretend::expect_transcript(pretend::with_replacements(refusal, {{WARDEN_CALLS, "PROGRAM"}}));
}

TEST_F(Judges, a_command_that_fails_says_how) {
  const auto failure = [](const std::string& command) {
    return failure_of("--check", command, [] { return 0; }).value_or(CommandFailure{});
  };
  EXPECT_EQ(failure("true").how, "");
  EXPECT_EQ(failure("exit 124").how, "exit 124");
  EXPECT_EQ(failure("kill -SEGV $$").how, "killed by SIGSEGV");
  EXPECT_EQ(failure("printf '\\033one\\ntwo' >&2; exit 1").output, "?one\ntwo");
  const std::string much = failure("seq 10000; exit 1").output;
  EXPECT_THAT(much, StartsWith("1\n2\n"));
  EXPECT_THAT(much, EndsWith("\n9999\n10000\n"));
  EXPECT_THAT(much, HasSubstr("\n[45894 bytes]\n"));
}

TEST_F(Judges, a_command_is_heard_by_who_has_no_standard_descriptors) {
  const int child = start_child([] {
    ::close(STDIN_FILENO);
    ::close(STDOUT_FILENO);
    ::close(STDERR_FILENO);
    const auto failure = failure_of("--check", "echo said; exit 1", [] { return 0; });
    return failure && failure->output == "said\n" ? 0 : 1;
  });
  EXPECT_EQ(reap(child), 0);
}

TEST_F(Judges, a_command_ends_with_all_its_children_when_we_are_interrupted) {
  const pretend::FreshFolder folder;
  folder.write("lock", "");
  const std::string lock = folder.path() + "/lock";
  // Interrupts once the command has begun.
  const auto begun = [&] { return folder.names().size() > 1 ? SIGINT : 0; };
  const auto failure = failure_of(
      "--check",
      "flock " + lock + " sh -c ': > " + folder.path() + "/begun; while :; do :; done' & wait",
      begun);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->how, "interrupted");
  const UniqueFd file(::open(lock.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(::flock(file.get(), LOCK_EX), 0);  // Its holder has been killed.
  empty(folder);
}

TEST_F(Judges, descriptors_that_it_was_given_are_told) {
  const UniqueFd given(::open("/dev/null", O_RDONLY));
  const UniqueFd kept(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Watched watched = script("exit 0");
  EXPECT_THAT(watched.inherited, Contains(std::to_string(given.get()) + " (/dev/null)"));
  EXPECT_THAT(watched.inherited, Not(Contains(std::to_string(kept.get()) + " (/dev/null)")));
}

/// Names that as many children left, one each.
std::vector<Leftover> many(const std::string& folder, int count) {
  std::vector<Leftover> all;
  for (int at = 1; at <= count; ++at) {
    const std::string path = folder + "/f" + std::to_string(at);
    all.push_back({.path = path,
                   .kind = "file",
                   .maker = "child." + std::to_string(at) + "/openat(" + path + ")#1"});
  }
  return all;
}

TEST(LeftoverLines, of_many_names_of_a_kind_ten_are_listed) {
  const std::vector<LeftoverLine> lines = lines_of(many("/tmp/[d]", 50'000));
  ASSERT_THAT(lines, SizeIs(11));
  EXPECT_EQ(lines[9].pattern, "/tmp/\\[d]/f10");
  EXPECT_EQ(lines[10].pattern, "/tmp/\\[d]/*");
  EXPECT_EQ(lines[10].kind, "file, and 49990 more");
  EXPECT_EQ(lines[10].maker, "child.*/openat");
  EXPECT_THAT(lines_of(many("/tmp", 10)), SizeIs(10));
}

TEST(LeftoverLines, are_bounded_for_any_number_of_folders) {
  std::vector<Leftover> all;
  for (int at = 0; at < 5000; ++at) {
    const std::string path = "/tmp/d" + std::to_string(at) + "/a";
    all.push_back({.path = path, .kind = "file", .maker = "root/creat(" + path + ")#1"});
  }
  const std::vector<LeftoverLine> lines = lines_of(all);
  ASSERT_THAT(lines, SizeIs(101));
  EXPECT_EQ(lines[100].pattern, "*");
  EXPECT_EQ(lines[100].kind, "file, and 4900 more");
}

TEST(EvidenceOfProgram, has_one_finding_for_each_pattern) {
  std::vector<Leftover> all = many("/tmp", 20);
  for (const Leftover& each : many("/tmp", 20)) {
    all.push_back({.path = each.path + "d", .kind = "folder", .maker = "root/mkdir(x)#1"});
  }
  ProgramEvidence evidence;
  evidence.add_left(all);
  const std::vector<Finding> findings = judge_by("no-leak", evidence.evidence()).findings;
  ASSERT_THAT(findings, SizeIs(21));
  EXPECT_EQ(findings[20].seen,
            "/tmp/* (file, and 10 more), made by child.*/openat; (folder, and 10 more), made by "
            "root/mkdir");
}

TEST(EvidenceOfProgram, is_judged_by_the_general_oracles) {
  const std::string long_name(300, 'a');
  ProgramEvidence evidence;
  evidence.add_left({{.path = "/tmp/left", .kind = "file", .maker = "root/mkdir(/tmp/left)#1"}});
  evidence.add_exposed({{.path = "/tmp/open", .kind = "file", .maker = "root/mkdir(/tmp/open)#1"}});
  Stayed stayed{.process = {}, .is_zombie = true, .locks = {"/tmp/lock"}};
  stayed.process.role = "child.1";
  stayed.process.title = "sh";
  evidence.add(stayed, "5 s after the root had ended");
  evidence.add(Hung{.role = "root",
                    .waiting = {.thread = 7, .call = "read", .object = long_name, .inside = "0"}});
  evidence.add(Growth{.role = "root",
                      .what = "descriptors",
                      .from = 4,
                      .to = 12,
                      .each_round = 0.5,
                      .most = "8 more of /tmp/log"});
  evidence.add(Crash{.role = "root", .signal = SIGSEGV});
  evidence.add_refuted("refuted: your commands succeed", "--check true: exit 1");
  std::string text;
  for (const std::string_view oracle : names_of_general_oracles()) {
    const std::vector<Finding> findings = judge_by(oracle, evidence.evidence()).findings;
    ASSERT_THAT(findings, SizeIs(1)) << oracle;
    EXPECT_THAT(findings[0].claim, StartsWith(std::string(oracle) + ": "));
    text += findings[0].claim + "\n  " + findings[0].seen + "\n";
  }
  EXPECT_THAT(text, HasSubstr("read(" + long_name + ")"));
  pretend::expect_transcript(pretend::with_replacements(text, {{long_name, "NAME"}}));
}

}  // namespace
}  // namespace lastref::harness::warden
