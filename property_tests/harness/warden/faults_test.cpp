// faults_test: what the warden does to calls, to processes and to names, and the results.
#include <sys/resource.h>

#include <csignal>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "harness/platform/names.hpp"
#include "harness/warden/likely_errors.hpp"
#include "harness/warden/syscalls.hpp"
#include "property_tests/harness/warden/watched.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::harness::warden {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr os::ChildExit end_by_sigkill = {.code = SIGKILL, .killed = true};

class Faults : public WardenTest {
 protected:
  void TearDown() override { empty(folder); }
  std::string in(const std::string& name) const { return folder.path() + '/' + name; }

  /// The folder has another name in each run.
  void expect_transcript(const std::string& text) const {
    pretend::expect_transcript(pretend::with_replacements(text, {{folder.path(), "FOLDER"}}));
  }

  pretend::FreshFolder folder;
};

TEST_F(Faults, half_of_a_write_is_written_and_told) {
  const Watched watched =
      script("dd if=/dev/zero of=" + in("a") + " bs=1000 count=1 2>/dev/null",
             {"write(" + in("a") + ")#1 shorten", "write(" + in("a") + ")#2 pause"});
  // dd writes the rest.
  EXPECT_THAT(watched.struck, ElementsAre(true, true));
  EXPECT_EQ(watched.root, os::ChildExit{});
  EXPECT_EQ(folder.read("a"), std::string(1000, '\0'));
}

TEST_F(Faults, half_of_a_write_to_a_pipe_is_written_and_told) {
  const Watched watched = script("printf 1234567890 | cat >" + in("a"), {"child.1/write shorten"});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  EXPECT_EQ(folder.read("a"), "1234567890");  // The shell writes the rest.
}

TEST_F(Faults, a_process_dies_amid_a_write) {
  const Watched watched =
      script("printf 1234567890 >" + in("a"), {"root/write(" + in("a") + ") kill_amid"});
  EXPECT_EQ(watched.root, end_by_sigkill);
  EXPECT_TRUE(watched.root_was_killed);
  EXPECT_EQ(folder.read("a"), "12345");
}

TEST_F(Faults, of_one_byte_there_is_no_half) {
  const Watched watched = script("printf 1 >" + in("a"), {"root/write(" + in("a") + ") shorten"});
  EXPECT_THAT(watched.struck, ElementsAre(false));
  EXPECT_EQ(folder.read("a"), "1");
}

TEST_F(Faults, a_process_dies_after_a_call_that_had_to_wait) {
  const Watched watched = script(
      "cd " + folder.path() +
          "; : > lock; flock lock sh -c ': > held; while ! test -e asked; do :; done; echo one >> "
          "order' & while ! test -e held; do :; done; "
          "(: > asked; exec flock lock sh -c 'echo two >> order'); wait; flock lock true",
      {"child.2/flock(" + in("lock") + ") kill_after"});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  EXPECT_EQ(folder.read("order"), "one\n");
}

TEST_F(Faults, a_process_dies_after_a_thread_of_it_became_another_program) {
  const Watched watched = must({.command = {WARDEN_CALLS, "execve in a thread", folder.path()},
                                .faults = faults({"execve(*/touch)#1 kill_after"})});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  EXPECT_EQ(watched.root, end_by_sigkill);
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST_F(Faults, a_signal_arrives_when_the_call_has_had_its_effect) {
  for (const auto& [name, signal] :
       {std::pair("send_sigterm", SIGTERM), {"send_sigint", SIGINT}, {"send_sighup", SIGHUP}}) {
    const std::string folder_made = "root/mkdir(" + in("made") + ") ";
    const std::vector<std::string> command = {"mkdir", in("made")};
    const Watched watched = must({.command = command, .faults = faults({folder_made + name})});
    EXPECT_THAT(watched.struck, ElementsAre(true));
    EXPECT_EQ(watched.root, (os::ChildExit{.code = signal, .killed = true}));
    EXPECT_TRUE(watched.root_was_killed);
    EXPECT_THAT(watched.crashes, IsEmpty());
    EXPECT_EQ(watched.perturbed, 0U);
    EXPECT_THAT(folder.names(), ElementsAre("made"));
    empty(folder);
  }
}

TEST_F(Faults, a_program_can_handle_a_signal) {
  const Watched watched =
      script("trap 'rm " + in("a") + "; exit 3' TERM; : > " + in("a") + "; while :; do :; done",
             {"root/openat(" + in("a") + ") send_sigterm"});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  EXPECT_EQ(watched.root, (os::ChildExit{.code = 3, .killed = false}));
  EXPECT_FALSE(watched.root_was_killed);
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST_F(Faults, a_signal_for_the_whole_tree_reaches_the_parent) {
  const Watched watched =
      script("trap 'exit 4' HUP; sh -c 'trap \"\" HUP; : > " + in("a") + "'; while :; do :; done",
             {"child.1/openat(" + in("a") + ") send_sighup whole_tree"});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  EXPECT_EQ(watched.root, (os::ChildExit{.code = 4, .killed = false}));
}

TEST_F(Faults, that_keep_the_program_from_its_start_strike) {
  const Watched watched = script("exit 0", {"root/execve#1 fail_once ENOENT"});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  EXPECT_EQ(watched.root.code, 127);
}

TEST_F(Faults, strike_from_one_call_to_another) {
  const auto made = [&](const std::string& range) {
    script("cd " + folder.path() + "; for n in 1 2 3 4 5; do touch $n; done",
           {"openat(" + folder.path() + "/*)" + range + " fail_once ENOSPC"});
    std::string names;
    for (const std::string& name : folder.names()) {
      names += name;
    }
    empty(folder);
    std::ranges::sort(names);
    return names;
  };
  EXPECT_EQ(made("#2"), "1345");
  EXPECT_EQ(made("#2-4"), "15");
  EXPECT_EQ(made("#3-"), "12");
}

TEST_F(Faults, that_no_kernel_gives_do_not_strike) {
  folder.write("a", "bytes");
  const std::string there = "cat " + in("a") + ">/dev/null";
  const bool in_memory = where_is(in("a")) == Where::memory;
  const Watched watched = script(there, {"read(" + in("a") + ") fail_once EINTR"});
  EXPECT_THAT(watched.struck, ElementsAre(false));
  EXPECT_THAT(watched.reasons.front(), HasSubstr("--unlikely"));
  const Watched broken = script(there, {"read(" + in("a") + ") fail_once EIO"});
  EXPECT_THAT(broken.struck, ElementsAre(!in_memory));
  const Watched asked = must({.command = {"/bin/sh", "-c", there},
                              .faults = faults({"read(" + in("a") + ") fail_once EINTR"}),
                              .takes_unlikely = true});
  EXPECT_THAT(asked.struck, ElementsAre(true));
}

TEST_F(Faults, that_such_flags_never_give_do_not_strike) {
  folder.write("a", "bytes");
  const auto strikes = [&](const std::string& text, const std::string& fault) {
    const Watched watched = script(text, {fault});
    return bool(watched.struck.at(0));
  };
  const std::string opens = "openat(" + in("a") + ")";
  EXPECT_FALSE(strikes("cat " + in("a") + ">/dev/null", opens + " fail_once ENOSPC"));
  EXPECT_FALSE(strikes("cat " + in("a") + ">/dev/null", opens + " fail_once EROFS"));
  EXPECT_TRUE(strikes(": >>" + in("a"), opens + " fail_once ENOSPC"));
  EXPECT_FALSE(strikes(": >" + in("a"), opens + " fail_once EEXIST"));
  EXPECT_TRUE(strikes("set -C; : >" + in("b"), "openat(" + in("b") + ") fail_once EEXIST"));
  EXPECT_FALSE(strikes("rm " + in("a"), "unlinkat(" + in("a") + ") fail_once ENOTEMPTY"));
  EXPECT_FALSE(strikes("echo >/dev/null", "write(/dev/null) fail_once ENOSPC"));
  EXPECT_FALSE(strikes("cat /proc/version >/dev/null", "openat(/proc/version) fail_once EDQUOT"));
  EXPECT_FALSE(strikes("(exit 0); exit 0", "clone fail_once ENOSPC"));
  EXPECT_TRUE(strikes("(exit 0); exit 0", "clone fail_once EAGAIN"));
  const std::string adds = "python3 -c 'import os; os.eventfd_write(os.eventfd(0), 1)'";
  EXPECT_FALSE(strikes(adds, "write(anon_inode:*eventfd*) fail_once ENOMEM"));
  EXPECT_FALSE(strikes(adds, "write(anon_inode:*eventfd*) fail_once EAGAIN"));
  const std::string takes = "python3 -c 'import os; os.eventfd_read(os.eventfd(1))'";
  EXPECT_TRUE(strikes(takes, "read(anon_inode:*eventfd*) fail_once EAGAIN"));
}

TEST_F(Faults, of_a_role_are_for_processes_with_such_a_command_line) {
  const std::string text = "cd " + folder.path() +
                           "; sh -c 'rmdir \"$0\"' a 2>/dev/null; "
                           "sh -c 'mkdir \"$0\"; rmdir \"$0\"' b; true";
  const Watched watched =
      script(text, {"*rmdir b/rmdir fail_once EBUSY", "'*no such job*'/rmdir fail_once EBUSY"});
  EXPECT_THAT(watched.struck, ElementsAre(true, false));
  EXPECT_TRUE(is_there(in("b")));
}

TEST_F(Faults, a_call_returns_as_late_as_its_pause_says) {
  const Watched watched = script("mkdir " + in("a"), {"mkdir pause 1"});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  EXPECT_GE(watched.seconds, 1);
}

TEST_F(Faults, are_listed_with_the_calls_that_they_were_injected_at) {
  const Watched watched = script("cd " + folder.path() + "; mkdir a; mkdir b; mkdir c; rmdir a",
                                 {"mkdir:error=ENOSPC:when=1..2",
                                  "rmdir/rmdir pause",
                                  "mkdir(*/c) outsider_unlink",
                                  "mkdir(*/[bc]) fail_always EROFS"});
  std::vector<std::string> listed;
  for (const CallSeen& each : watched.calls) {
    if (each.call.ends_with("mkdir") || each.call.ends_with("rmdir")) {
      listed.push_back(fmt::format("{} {} {}", each.role, each.call, fmt::join(each.faults, ",")));
    }
  }
  EXPECT_THAT(
      listed,
      ElementsAre("child.1 mkdir 0", "child.2 mkdir 0", "child.3 mkdir 0", "child.4 rmdir 1"));
}

TEST_F(Faults, in_the_syntax_of_strace_count_the_calls_of_each_process) {
  const std::string text = "mkdir " + in("a") + "; mkdir " + in("b") + " " + in("c") +
                           " 2>/dev/null; mkdir " + in("d") + "; exit 0";
  EXPECT_THAT(script(text, {"mkdir:error=ENOSPC:when=2"}).struck_at,
              ElementsAre("child.2/mkdir(" + in("c") + ")"));
  EXPECT_FALSE(is_there(in("c")));
  empty(folder);
  EXPECT_THAT(script(text, {"mkdir#2 fail_once ENOSPC"}).struck_at,
              ElementsAre("child.2/mkdir(" + in("b") + ")"));
  empty(folder);
  const Watched watched = script(text, {"mkdir:error=ENOSPC:when=3..4"});
  EXPECT_THAT(watched.reasons,
              ElementsAre("such a call was made 2 times by one thread, so there was no 3rd"));
}

TEST_F(Faults, of_a_process_that_died_before_say_so) {
  const Watched watched = script("mkdir " + in("a") + "; kill -TERM $$; mkdir " + in("b"),
                                 {"sh/mkdir fail_once ENOSPC", "mkdir#2 fail_once ENOSPC"});
  if (!watched.processes.front().wait_status) {
    GTEST_SKIP() << "this kernel does not report how children of others died";
  }
  EXPECT_THAT(watched.reasons,
              ElementsAre("sh never made the call mkdir; root died of SIGTERM",
                          "such a call was made once, so there was no 2nd; root died of SIGTERM"));
}

TEST_F(Faults, that_were_not_injected_say_why) {
  const Watched watched = script("mkdir " + in("a") + "; mkdir " + in("b") + "; exit 0",
                                 {"mkdir#3 fail_once ENOSPC",
                                  "mkdir(*/c) fail_once ENOSPC",
                                  "child.3/mkdir fail_once ENOSPC",
                                  "root/mkdir fail_once ENOSPC",
                                  "mkdir/execve fail_once ENOENT",
                                  "openat(*/libc.so*) fail_once ENOSPC"});
  EXPECT_THAT(watched.struck, testing::Each(false));
  EXPECT_THAT(watched.reasons[0], HasSubstr("made 2 times"));
  EXPECT_THAT(watched.reasons[2], HasSubstr("child.3"));
  expect_transcript(fmt::format("{}\n", fmt::join(watched.reasons, "\n")));
}

TEST_F(Faults, find_a_call_by_its_second_name_and_by_its_own_process) {
  folder.write("a", "bytes");
  const Watched link =
      script("ln " + in("a") + ' ' + in("b"), {"linkat(" + in("b") + ") kill_before"});
  EXPECT_THAT(link.struck, ElementsAre(true));
  EXPECT_THAT(link.struck_at, ElementsAre("child.1/linkat(" + in("a") + ")"));
  const Watched own =
      script("cat /proc/self/status >/dev/null", {"openat(/proc/self/status) fail_once EMFILE"});
  EXPECT_THAT(own.struck, ElementsAre(true));
}

TEST_F(Faults, tell_how_often_they_struck) {
  const Watched watched =
      script("mkdir " + in("a") + ' ' + in("b") + ' ' + in("c"), {"mkdir#2- fail_once EACCES"});
  EXPECT_THAT(watched.struck_at, ElementsAre("child.1/mkdir(" + in("b") + "), and 1 more"));
}

TEST_F(Faults, each_call_has_its_errors) {
  for (const SyscallRow& row : syscalls()) {
    const std::string errors = likely_errors_of(row.name);
    EXPECT_EQ(errors.empty(), row.effect == Effect::ends) << row.name;
    for (std::size_t at = 0; at < errors.size();) {
      const std::size_t end = std::min(errors.find_first_of(" ;:", at), errors.size());
      const std::string word = errors.substr(at, end - at);
      EXPECT_TRUE(!word.starts_with('E') || error_named(word)) << row.name << ' ' << word;
      at = end + 1;
    }
  }
}

TEST_F(Faults, a_paused_thread_has_made_its_call_and_waits_until_the_others_rest) {
  // The other process needs the folder, and makes calls until it exists.
  const Watched watched = script("cd " + folder.path() +
                                     "; (mkdir one; ls one > seen) & "
                                     "(until mkdir one/two 2>/dev/null; do :; done); wait",
                                 {"child.1*/mkdir(" + in("one") + ") pause"});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  EXPECT_EQ(watched.root, os::ChildExit{});
  EXPECT_EQ(folder.read("seen"), "two\n");
}

TEST_F(Faults, a_paused_thread_gets_the_signals_that_came_meanwhile) {
  const Watched watched = script("cd " + folder.path() +
                                     "; trap 'exit 5' TERM; "
                                     "(until rm one 2>/dev/null; do :; done; kill -TERM $$) & "
                                     ": > one; wait; exit 0",
                                 {"root/openat(" + in("one") + ") pause"});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  EXPECT_EQ(watched.root.code, 5);
}

TEST_F(Faults, who_is_stopped_with_a_lock_keeps_the_others_waiting) {
  const Watched watched =
      script("cd " + folder.path() +
                 "; : > lock; flock lock sh -c 'echo one >> order' & "
                 "while ! grep -q . order 2>/dev/null && flock -n lock true; do :; done; "
                 "flock lock sh -c 'echo two >> order'; wait",
             {"child.1/flock(" + in("lock") + ") stop"});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  EXPECT_EQ(folder.read("order"), "one\ntwo\n");
}

TEST_F(Faults, an_outsider_does_something_to_a_name) {
  const auto after = [&](const std::string& change) {
    folder.write("a", "mine\n");
    const Watched watched = script("cat " + in("a") + " >" + in("said") + " 2>&1",
                                   {"openat(" + in("a") + ") outsider_" + change});
    EXPECT_THAT(watched.struck, ElementsAre(true)) << change;
    std::string said = folder.read("said");
    empty(folder);
    return said;
  };
  EXPECT_THAT(after("unlink"), HasSubstr("No such file"));
  EXPECT_EQ(after("truncate"), "");
  EXPECT_EQ(after("replace"), "another process\n");
  EXPECT_THAT(after("symlink"), HasSubstr("No such file"));
  if (::geteuid() != 0) {
    EXPECT_THAT(after("chmod_000"), HasSubstr("Permission denied"));
  }
}

TEST_F(Faults, what_an_outsider_has_planted_goes_again) {
  script("cat " + in("a") + " 2>/dev/null", {"openat(" + in("a") + ") outsider_symlink"});
  script("cat " + in("b") + " >/dev/null", {"openat(" + in("b") + ") outsider_replace"});
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST_F(Faults, an_outsider_finds_what_was_there_before_by_its_whole_name_alone) {
  folder.write("mine", "mine\n");
  const std::string reads =
      "cat " + in("mine") + " >/dev/null; : > " + in("new") + "; rm " + in("new");
  const Watched watched = script(reads, {"openat(" + folder.path() + "/*)#1 outsider_unlink"});
  EXPECT_THAT(watched.struck, ElementsAre(false));
  expect_transcript(watched.reasons.front());
  EXPECT_EQ(folder.read("mine"), "mine\n");
  const Watched own = script(reads, {"unlinkat(" + folder.path() + "/*)#1 outsider_unlink"});
  EXPECT_THAT(own.struck, ElementsAre(true));
}

TEST_F(Faults, what_is_made_through_an_outsiders_link_is_told) {
  const Watched watched = script("cd " + folder.path() + "; : > a; : > a; rm a",
                                 {"openat(" + in("a") + ")#2 outsider_symlink"});
  ASSERT_THAT(watched.leftovers, SizeIs(1));
  EXPECT_EQ(watched.leftovers[0].path, in("a.outsider.nowhere"));
}

TEST_F(Faults, a_new_name_of_what_was_there_before_keeps_it_from_outsiders) {
  folder.write("old", "mine\n");
  for (const char* const way : {"ln -s old new", "ln old new", "mv old new"}) {
    const Watched watched =
        script("cd " + folder.path() + "; " + way + "; cat new >/dev/null; mv new old",
               {"cat/openat(*/new) outsider_truncate"});
    EXPECT_THAT(watched.struck, ElementsAre(false)) << way;
    expect_transcript(watched.reasons.front());
    if (way != std::string("ln -s old new")) {
      EXPECT_EQ(folder.read("old"), "mine\n") << way;
    }
    std::filesystem::remove(in("new"));
    std::filesystem::remove(in("old"));
    folder.write("old", "mine\n");
  }
}

TEST_F(Faults, rights_come_back_to_what_has_another_name_by_now) {
  folder.write("a", "mine\n");
  const auto rights = std::filesystem::status(in("a")).permissions();
  const Watched watched = script("cd " + folder.path() + "; cat a 2>/dev/null >&2; mv a b",
                                 {"cat/openat(" + in("a") + ") outsider_chmod_000"});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  EXPECT_EQ(std::filesystem::status(in("b")).permissions(), rights);
}

TEST_F(Faults, an_outsider_gives_rights_back) {
  folder.write("a", "mine\n");
  const auto rights = std::filesystem::status(in("a")).permissions();
  const Watched watched = script("ls -l " + in("a") + " >" + in("said") + "; cat " + in("a") +
                                     " 2>/dev/null >&2; ls -l " + in("a") + " >>" + in("said"),
                                 {"openat(" + in("a") + ") outsider_chmod_000"});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  EXPECT_THAT(folder.read("said"), HasSubstr("\n----------"));
  EXPECT_EQ(std::filesystem::status(in("a")).permissions(), rights);
}

/// Runs as a user without root's rights.
std::string as_user() {
  return ::geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
}

TEST_F(Faults, an_outsider_closes_a_folder_until_the_end) {
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  const Watched watched =
      must({.command = {"/bin/sh",
                        "-c",
                        "cd " + folder.path() + "; exec " + as_user() +
                            "sh -c 'mkdir d; : > d/a; touch d/b; touch d/c; test -e d/a || : > "
                            "closed; rm d/a; : > open'"},
            .faults = faults({"touch/openat(" + in("d/b") + ") outsider_chmod_parent"})});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  EXPECT_THAT(watched.struck_at, ElementsAre(testing::EndsWith("/openat(" + in("d/b") + ")")));
  EXPECT_THAT(folder.names(), testing::UnorderedElementsAre("d", "d/a", "closed", "open"));
  EXPECT_EQ(std::filesystem::status(in("d")).permissions() & std::filesystem::perms::owner_all,
            std::filesystem::perms::owner_all);
  EXPECT_THAT(watched.leftovers, SizeIs(4));
}

TEST_F(Faults, who_may_ignore_rights_is_kept_out_of_a_closed_folder_by_us) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs CAP_DAC_OVERRIDE";
  }
  const Watched watched =
      script("cd " + folder.path() +
                 "; mkdir d; : > d/a; touch d/b; touch d/c; ls d; mv d/a a; touch b; mv b d/e; "
                 "rm d/a; test -e b",
             {"touch/openat(" + in("d/b") + ") outsider_chmod_parent"});
  ASSERT_THAT(watched.struck_at, ElementsAre(HasSubstr("EACCES")));
  expect_transcript(watched.struck_at[0]);
  EXPECT_EQ(watched.root, os::ChildExit{});
  EXPECT_THAT(watched.leftovers, SizeIs(3));
  EXPECT_THAT(folder.names(), testing::UnorderedElementsAre("d", "d/a", "b"));
}

TEST_F(Faults, a_folder_that_was_there_is_closed_by_its_whole_name_alone) {
  const auto strikes = [&](const std::string& object) {
    const Watched watched =
        script("touch " + in("a"), {"touch/openat(" + object + ") outsider_chmod_parent"});
    return bool(watched.struck.at(0));
  };
  EXPECT_FALSE(strikes("*/a"));
  EXPECT_TRUE(is_there(in("a")));
  EXPECT_TRUE(strikes(in("*")));
}

TEST_F(Faults, of_two_at_one_call_the_first_that_may_strikes) {
  folder.write("a", "mine\n");
  const std::string call = "openat(" + in("a") + ")";
  const Watched watched = script("cat " + in("a") + " 2>" + in("said"),
                                 {call + " fail_once EPIPE",
                                  call + " fail_once EMFILE",
                                  call + " fail_once ENFILE",
                                  call + " outsider_unlink"});
  EXPECT_THAT(watched.struck, ElementsAre(false, true, false, true));
  EXPECT_THAT(watched.reasons[0], HasSubstr("--unlikely"));
  expect_transcript(watched.reasons[2]);
  EXPECT_THAT(folder.read("said"), HasSubstr("Too many open files"));
  EXPECT_THAT(folder.names(), ElementsAre("said"));
}

TEST_F(Faults, who_is_stopped_with_all_its_threads_is_not_perturbed) {
  for (int run = 0; run < 5; ++run) {
    const Watched watched =
        must({.command = {WARDEN_CALLS, "flock among threads", folder.path()},
              .faults = faults({"flock#2 stop", "flock#5 stop", "flock#8 stop"})});
    EXPECT_THAT(watched.struck, ElementsAre(true, true, true));
    EXPECT_EQ(watched.perturbed, 0U);
    EXPECT_EQ(watched.root, os::ChildExit{});
  }
}

TEST_F(Faults, who_dies_with_the_tree_is_not_perturbed) {
  const std::string makes = "while mkdir $n; do rmdir $n; done & ";
  const std::string text =
      "cd " + folder.path() + "; n=a; " + makes + "n=b; " + makes + "n=c; mkdir c; rmdir c; wait";
  for (int run = 0; run < 20; ++run) {
    const Watched watched = script(text, {"mkdir(*/c) kill_before whole_tree"});
    EXPECT_THAT(watched.struck, ElementsAre(true));
    EXPECT_EQ(watched.perturbed, 0U);
    empty(folder);
  }
}

TEST_F(Faults, a_limit_is_one_of_the_program) {
  const auto limit = parse_limit("fsize=1k");
  ASSERT_TRUE(limit);
  const Watched watched = must(
      {.command = {"/bin/sh",
                   "-c",
                   "trap '' XFSZ; dd if=/dev/zero of=" + in("a") + " bs=4096 count=1 2>/dev/null"},
       .limits = {*limit}});
  EXPECT_EQ(watched.root.code, 1);
  EXPECT_EQ(folder.read("a").size(), 1024U);
}

TEST_F(Faults, a_limit_that_may_not_be_set_says_which) {
  const auto limit = parse_limit("nofile=4G");
  ASSERT_TRUE(limit);
  const auto watched = watch({.command = {"/bin/true"}, .limits = {*limit}});
  ASSERT_FALSE(watched);
  EXPECT_THAT(watched.error().subject, HasSubstr("--limit nofile=4294967296"));
  rlimit most{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &most), 0);
  pretend::expect_transcript(pretend::with_replacements(
      watched.error().subject, {{std::to_string(most.rlim_max), "LIMIT"}}));
}

TEST_F(Faults, limits_that_are_none_say_so) {
  std::string refusals;
  for (const char* text : {"",
                           "nofile",
                           "nofile=",
                           "nofile=x",
                           "nofile=1q",
                           "nofile=1kk",
                           "files=1",
                           "as=99999999999g",
                           "nofile=-1"}) {
    const auto limit = parse_limit(text);
    ASSERT_FALSE(limit) << text;
    EXPECT_THAT(limit.error().subject, HasSubstr(text));
    refusals += limit.error().subject + "\n";
  }
  expect_transcript(refusals);
}

}  // namespace
}  // namespace lastref::harness::warden
