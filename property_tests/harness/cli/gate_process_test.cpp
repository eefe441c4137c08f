// gate_process_test: the gate as one process among others. It ends for every user and after every
// signal, and takes everything of its own with it.
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/platform/child_process.hpp"
#include "harness/platform/namespaces.hpp"
#include "property_tests/support/process_group.hpp"

namespace lastref::harness {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

/// All unshare(2) of this process and its children fail, as where namespaces are not permitted.
bool forbid_namespaces() {
  std::array<sock_filter, 4> filter = {{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_unshare},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  const sock_fprog program = {.len = filter.size(), .filter = filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool give_up_administration() {
  return ::geteuid() != 0 || ::prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN) == 0;
}

/// Becomes a user without root's rights; any user other than root already is one.
bool be_ordinary() {
  return ::geteuid() != 0 || pretend::become_nobody();
}

/// A private /dev/shm, where that is permitted.
void have_shared_memory_alone() {
  if (::unshare(CLONE_NEWNS) == 0 && keep_mounts_private()) {
    mount_tmpfs("alone", "/dev/shm");
  }
}

/// The gate, in a process of its own.
class GateProcess : public testing::Test {
 public:
  GateProcess() {
    pretend::adopt_orphans();
    std::string path = testing::TempDir() + "gate_XXXXXX";
    folder_ = ::mkdtemp(path.data());
    // Any user may run it from there.
    fs::copy_file(LASTREF_PROGRAM, folder_ / "lastref");
    ::chmod(folder_.c_str(), 0755);
  }
  GateProcess(const GateProcess&) = delete;
  GateProcess& operator=(const GateProcess&) = delete;
  ~GateProcess() override { fs::remove_all(folder_); }

 protected:
  /// Runs `prepare` in the new process. The arguments may end in more commands for a shell.
  void start(const std::string& arguments, const std::function<bool()>& prepare) {
    auto [reader, writer] = make_pipe();
    const std::string then = arguments.find(';') == std::string::npos ? "exec " : "";
    const std::string command =
        "exec 2>&1; cd /; " + then + (folder_ / "lastref").string() + ' ' + verb_ + ' ' + arguments;
    pid_ = start_child([&, &output = writer] {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(output.get(), STDOUT_FILENO);
      ::setenv("TMPDIR", folder_.c_str(), 1);
      if (prepare()) {
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      }
      return 99;
    });
    ASSERT_GE(pid_, 0);
    said_by_it_ = std::move(reader);
  }
  /// Reads until the gate has printed this; without a time limit.
  void read_until(const std::string& text) {
    while (said_.find(text) == std::string::npos && read_more()) {
    }
    ASSERT_THAT(said_, HasSubstr(text));
  }
  /// Returns its exit status when it and everything that it started have ended.
  int wait() {
    while (read_more()) {
    }
    said_by_it_.reset();
    const std::optional<int> status = reap(pid_);
    EXPECT_TRUE(status);
    pretend::bury_all();
    return status.value_or(0);
  }
  int exit_of(const std::string& arguments, const std::function<bool()>& prepare) {
    start(arguments, prepare);
    const int status = wait();
    EXPECT_TRUE(WIFEXITED(status)) << said_;
    return WEXITSTATUS(status);
  }
  std::string in_folder(const std::string& name) const { return folder_ / name; }

  std::string verb_ = "gate";
  pid_t pid_ = 0;
  std::string said_;

 private:
  bool read_more() {
    std::array<char, 4096> some{};
    const ssize_t size = ::read(said_by_it_.get(), some.data(), some.size());
    said_.append(some.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return size > 0;
  }

  fs::path folder_;
  UniqueFd said_by_it_;
};

/// Few runs; then the names in /dev/shm, between bars. The exit code is the gate's.
const std::string few_and_names =
    "--scenario tracker/second_tracker_exits --random 10 --budget 2; "
    "code=$?; echo \"|$(ls -A /dev/shm)|\"; exit $code";

bool is_clean_or_incomplete(int code) {
  return code == 0 || code == 3;
}

TEST_F(GateProcess, ends_for_an_ordinary_user) {
  const int code = exit_of(few_and_names, [] {
    have_shared_memory_alone();
    return be_ordinary();
  });
  EXPECT_TRUE(is_clean_or_incomplete(code)) << said_;
  EXPECT_THAT(said_, HasSubstr("world kernel: "));
  EXPECT_THAT(said_, testing::Not(HasSubstr("VIOLATION")));
}

TEST_F(GateProcess, ends_for_a_root_who_may_not_mount) {
  EXPECT_TRUE(is_clean_or_incomplete(exit_of(few_and_names, [] {
    have_shared_memory_alone();
    return give_up_administration();
  }))) << said_;
}

TEST_F(GateProcess, ends_where_namespaces_are_not_permitted_and_leaves_nothing) {
  const int code = exit_of(few_and_names, [] {
    have_shared_memory_alone();
    return be_ordinary() && forbid_namespaces();
  });
  EXPECT_TRUE(is_clean_or_incomplete(code)) << said_;
  EXPECT_THAT(said_, HasSubstr("DEGRADED: namespaces"));
  if (::geteuid() == 0) {
    EXPECT_THAT(said_, HasSubstr("||"));
  }
}

bool as_it_is() {
  return true;
}

bool hide_proc() {
  return (::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
         keep_mounts_private() && mount_tmpfs("none", "/proc");
}

TEST_F(GateProcess, cannot_run_without_proc_and_reports_it) {
  const std::pair<const char*, const char*> verbs[] = {
      {"gate", "--scenario canary/always_fails"},
      {"replay", "canary/always_fails"},
      {"stress", "--scenario canary/always_fails --runs 1"},
      {"run", "-- true"}};
  for (const auto& [verb, arguments] : verbs) {
    verb_ = verb;
    said_.clear();
    EXPECT_EQ(exit_of(arguments, hide_proc), 2) << said_;
    EXPECT_THAT(said_, HasSubstr("/proc"));
    EXPECT_THAT(said_, testing::Not(HasSubstr("DEGRADED")));
  }
}

TEST_F(GateProcess, simulates_without_proc) {
  verb_ = "explore";
  EXPECT_EQ(exit_of("canary/always_fails", hide_proc), 1) << said_;
  verb_ = "replay";
  said_.clear();
  EXPECT_EQ(exit_of("canary/always_fails --world sim", hide_proc), 1) << said_;
}

TEST_F(GateProcess, leaves_a_signal_ignored_that_its_program_ignores) {
  verb_ = "run";
  const std::string fifo = in_folder("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  start("-- sh -c 'echo on >&2; read line <" + fifo + "'",
        [] { return ::signal(SIGINT, SIG_IGN) != SIG_ERR; });
  read_until("on\n");
  ::kill(pid_, SIGINT);
  std::ofstream(fifo) << "over" << std::endl;
  EXPECT_EQ(wait(), 0) << said_;
  EXPECT_THAT(said_, testing::Not(HasSubstr("\ninterrupted")));
}

TEST_F(GateProcess, runs_all_in_the_ambients_of_a_row_that_nobody_else_shows) {
  const int code = exit_of("--row E8 --scenario 'tracker/second_*'", as_it_is);
  if (code == 2) {  // There are no ambients where the machine lacks part of the world.
    EXPECT_THAT(said_, HasSubstr("E8"));
    return;
  }
  EXPECT_EQ(code, 0) << said_;
  EXPECT_THAT(said_, HasSubstr("tracker/second_tracker_exits"));
  EXPECT_THAT(said_, HasSubstr("\n  stranger "));
  EXPECT_THAT(said_, testing::Not(HasSubstr("\n  elsewhere ")));
  EXPECT_THAT(said_, HasSubstr("(0 clean, 0 matrix, "));
}

/// The file in the printed arguments for a resume.
std::string file_to_resume(const std::string& said) {
  const std::string option = " --resume ";
  const std::size_t at = said.find(option);
  const std::size_t begin = at + option.size();
  return at == std::string::npos ? std::string() : said.substr(begin, said.find('\n', at) - begin);
}

TEST_F(GateProcess, says_after_an_interruption_how_far_it_was_and_goes_on_there) {
  for (const int signal : {SIGINT, SIGTERM}) {
    said_.clear();
    start("--scenario 'jobs/two_jobs_*' --json " + in_folder("report"), as_it_is);
    read_until("matrix");
    ::kill(pid_, signal);
    const int status = wait();
    ASSERT_TRUE(WIFEXITED(status)) << said_;
    EXPECT_EQ(WEXITSTATUS(status), 3) << said_;
    EXPECT_THAT(said_, HasSubstr("lastref gate --scenario 'jobs/two_jobs_*' --json "));
    EXPECT_THAT(said_, HasSubstr("interrupted"));
    std::ifstream file(in_folder("report"));
    const auto report = nlohmann::json::parse(file);
    EXPECT_EQ(report["interrupted"], true);
    EXPECT_EQ(report["exit"], 3);
    const std::string resumed = file_to_resume(said_);
    ASSERT_TRUE(fs::exists(resumed)) << said_;
    said_.clear();
    exit_of("--scenario 'jobs/two_jobs_*' --budget 0.1 --resume " + resumed, as_it_is);
    if (report["matrix"]["executed"] > 0) {
      EXPECT_THAT(said_, HasSubstr("earlier"));
    }
  }
}

/// What a whole gate and the merged one have to have in common. Each shard has faults of its own
/// after a fault, so there are more runs in all. In real processes, what a dying tree allocates
/// differs from run to run, and with it the faults after a fault of any two gates.
const std::vector<std::string> totals = {"exit",
                                         "verdict",
                                         "worlds",
                                         "scenarios",
                                         "interrupted",
                                         "left_out",
                                         "points_declared",
                                         "points_reached",
                                         "points_never_reached",
                                         "matrix",
                                         "second_level",
                                         "share",
                                         "ambients",
                                         "seed",
                                         "violations",
                                         "violation_groups",
                                         "violations_total",
                                         "not_deterministic"};

/// Gates in shards, and a whole one. Each writes the faults that it has executed.
class GateShards : public GateProcess, public testing::WithParamInterface<const char*> {
 protected:
  static bool is_sim() { return GetParam() == std::string_view("sim"); }
  /// A gate writes NAME.json, NAME.faults and the folder NAME.
  void run(const std::string& name, int code, const std::string& arguments) {
    said_.clear();
    EXPECT_EQ(
        exit_of(fmt::format("{0} --world {1} --output {2} --json {2}.json --resume {2}.faults",
                            arguments,
                            GetParam(),
                            in_folder(name)),
                as_it_is),
        code)
        << said_;
  }
  void merge(const std::string& name, int code, const std::vector<std::string>& folders) {
    verb_ = "merge";
    said_.clear();
    std::string arguments = "--json " + in_folder(name + ".json");
    for (const std::string& each : folders) {
      arguments += ' ' + in_folder(each);
    }
    EXPECT_EQ(exit_of(arguments, as_it_is), code) << said_;
    verb_ = "gate";
  }
  nlohmann::json json(const std::string& name) const {
    std::ifstream file(in_folder(name + ".json"));
    return nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  }
  /// Those of the first level, or of pairs
  std::multiset<std::string> faults(const std::string& name, bool in_pairs) const {
    std::ifstream file(in_folder(name + ".faults"));
    std::multiset<std::string> all;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("fault ") && (line.find(", then ") != std::string::npos) == in_pairs) {
        all.insert(line);
      }
    }
    return all;
  }
  void expect_same_totals(const std::string& name, const std::string& other) const {
    const auto one = json(name);
    const auto two = json(other);
    for (const std::string& each : totals) {
      if (is_sim() || each != "second_level") {
        EXPECT_EQ(one[each], two[each]) << each;
      }
    }
    ASSERT_EQ(one["scenario_results"].size(), two["scenario_results"].size());
    for (std::size_t at = 0; at < one["scenario_results"].size(); ++at) {
      for (const char* each : {"name", "sites", "matrix", "violations"}) {
        EXPECT_EQ(one["scenario_results"][at][each], two["scenario_results"][at][each]) << each;
      }
    }
  }
};

TEST_P(GateShards, do_together_what_a_whole_gate_does) {
  const std::string arguments =
      "--scenario 'tracker/second_tracker_*' --share 0.05 --random 12 --hunt 5 --worlds 1";
  run("whole", 0, arguments);
  std::multiset<std::string> all;
  std::multiset<std::string> pairs;
  for (const char* each : {"1", "2"}) {
    run(each, 0, fmt::format("{} --shard {}/2", arguments, each));
    all.merge(faults(each, false));
    pairs.merge(faults(each, true));
  }
  EXPECT_FALSE(all.empty());
  EXPECT_EQ(all, faults("whole", false));
  EXPECT_EQ(std::set(pairs.begin(), pairs.end()).size(), pairs.size());
  if (is_sim()) {
    EXPECT_TRUE(std::ranges::includes(pairs, faults("whole", true)));
  }
  merge("merged", 0, {"2", "1"});
  EXPECT_THAT(said_, HasSubstr("small limits: "));
  EXPECT_THAT(said_, HasSubstr("hunt: 5 runs of 1 scenarios"));
  expect_same_totals("whole", "merged");
  EXPECT_EQ(json("merged")["runs_by_purpose"]["random"],
            json("whole")["runs_by_purpose"]["random"]);
  EXPECT_EQ(json("merged")["runs_by_purpose"]["clean"], json("whole")["runs_by_purpose"]["clean"]);
  merge("again", 0, {"whole"});
  EXPECT_EQ(json("again"), json("whole"));
  merge("missing", 2, {"1"});
  EXPECT_THAT(said_, HasSubstr("missing: shard 2/2"));
}

TEST_P(GateShards, find_together_what_a_whole_gate_finds) {
  const std::string arguments = "--scenario canary/always_fails --random 4 --hunt 0 --worlds 1";
  run("whole", 1, arguments);
  run("1", 1, arguments + " --shard 1/2");
  run("2",
      0,
      arguments + " --shard 2/2");  // The scenario has only a clean run, of the first shard.
  merge("merged", 1, {"1", "2"});
  const auto whole = json("whole");
  EXPECT_GE(whole["violations_total"], 1U);
  EXPECT_THAT(whole["violations"].at(0)["replay"].get<std::string>(),
              HasSubstr("lastref replay canary/always_fails"));
  expect_same_totals("whole", "merged");
}

INSTANTIATE_TEST_SUITE_P(Worlds, GateShards, testing::Values("sim", "kernel"));

TEST_F(GateProcess, writes_no_results_if_it_is_interrupted) {
  start("--scenario 'jobs/two_jobs_*' --output " + in_folder("part"), as_it_is);
  read_until("matrix");
  ::kill(pid_, SIGTERM);
  const int status = wait();
  ASSERT_TRUE(WIFEXITED(status)) << said_;
  EXPECT_EQ(WEXITSTATUS(status), 3) << said_;
  EXPECT_TRUE(fs::is_empty(in_folder("part")));
}

TEST_F(GateProcess, ends_at_once_at_a_second_signal_and_takes_its_runs_along) {
  start("--scenario tracker/hundred_thousand_names", as_it_is);
  read_until("clean runs");
  ::kill(pid_, SIGINT);
  ::kill(pid_, SIGTERM);
  const int status = wait();
  EXPECT_TRUE(WIFSIGNALED(status)) << said_;
}

}  // namespace
}  // namespace lastref::harness
