// sweep_process_test: sweeps as processes: one that is killed at any time and continued, and one
// that is divided into shards, find what a whole one finds.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/choice/choices.hpp"
#include "harness/cli/sweep_folder.hpp"
#include "harness/platform/child_process.hpp"
#include "harness/platform/hash.hpp"
#include "harness/warden/capabilities.hpp"
#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/process_group.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr int killed = 128 + SIGKILL;

bool has_overlays() {
  return std::ranges::any_of(warden::diagnose(), [](const warden::Diagnosis& each) {
    return each.lost == "--private FOLDER=overlay" && each.works;
  });
}

/// What does not depend on time.
SweptProgram without_time(SweptProgram program) {
  for (auto& [cell, outcome] : program.outcomes) {
    outcome.seconds = 0;
  }
  std::ranges::sort(program.confirmations, {}, [](const Confirmation& each) {
    return std::pair(each.cell, each.shown.claim + each.shown.seen);
  });
  return program;
}

void expect_equal(const SweptProgram& one, const SweptProgram& other) {
  const SweptProgram left = without_time(one);
  const SweptProgram right = without_time(other);
  EXPECT_EQ(left.name, right.name);
  EXPECT_EQ(left.run, right.run);
  EXPECT_EQ(left.cells, right.cells);
  EXPECT_EQ(left.outcomes.size(), right.outcomes.size());
  for (const auto& [cell, outcome] : left.outcomes) {
    ASSERT_TRUE(right.outcomes.contains(cell)) << left.cells[cell];
    EXPECT_TRUE(outcome == right.outcomes.at(cell)) << left.cells[cell];
  }
}

class SweepProcess : public testing::Test {
 public:
  SweepProcess() { pretend::adopt_orphans(); }
  SweepProcess(const SweepProcess&) = delete;
  SweepProcess& operator=(const SweepProcess&) = delete;
  ~SweepProcess() override {
    for (const std::string& name : folder_.names()) {
      folder_.remove(name);
    }
  }

 protected:
  void SetUp() override {
    if (!has_overlays()) {
      GTEST_SKIP() << "needs overlays";
    }
    folder_.make_folder("tmp");
    kill_at("nothing");
    folder_.write("lastref.toml",
                  fmt::format("[story.leak]\ncommand = '{}'\ncheck = '{}'\ntimeout = 60\n"
                              "[story.quiet]\ncommand = ': > kept'\ntimeout = 60\n",
                              program_,
                              check()));
  }

  /// Sends the sweep a signal while it tries the fault.
  void kill_at(const std::string& fault, const std::string& signal = "KILL") const {
    folder_.write("killed_at", fault);
    folder_.write("signal", signal);
  }

  /// In the folder; returns the exit code. What it prints is in `said_`.
  int run(const std::string& words) {
    const std::string line = fmt::format(
        "cd {}; echo $$ > pid; exec {} {} > said 2>&1", folder_.path(), LASTREF_PROGRAM, words);
    const int child = start_child([&] {
      ::setenv("TMPDIR", folder_.path("tmp").c_str(), 1);
      ::unsetenv("GITHUB_ACTIONS");
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      return 99;
    });
    const int status = reap(child).value_or(0);
    pretend::bury_all();  // The runs of a sweep that was killed
    said_ = folder_.read("said");
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  int sweep(const std::string& options) {
    return run(fmt::format(
        "run --sweep --timeout 60 {} --check '{}' -- sh -c '{}'", options, check(), program_));
  }

  RecordedSweep read(const std::string& name) const {
    auto read = read_sweep(folder_.path(name));
    EXPECT_TRUE(read) << read.error().subject;
    return std::move(read).value_or(RecordedSweep{});
  }

  /// The report of merge on these folders, without what depends on time.
  Json merged(const std::string& names) {
    const int code = run("merge --json merged " + names);
    Json json = Json::parse(folder_.read("merged"), nullptr, false);
    EXPECT_TRUE(json.is_object()) << said_;
    EXPECT_EQ(json.value("exit", -1), code) << said_;
    return json;
  }

  /// In the folder for temporary files
  std::vector<std::string> temporary() const {
    std::vector<std::string> names = folder_.names();
    std::erase_if(names, [](const std::string& name) { return !name.starts_with("tmp/"); });
    return names;
  }

  std::string said_;
  pretend::FreshFolder folder_;

 private:
  std::string check() const {
    return fmt::format(R"(read at < {0}/killed_at; test "$at" != "$LASTREF_FAULT" || )"
                       R"(kill -$(cat {0}/signal) $(cat {0}/pid))",
                       folder_.path());
  }

  const std::string program_ = ": > made; exec rm made";
};

TEST_F(SweepProcess, that_was_killed_and_continued_finds_what_a_whole_one_finds) {
  ASSERT_EQ(sweep("--output whole"), 1) << said_;
  const RecordedSweep whole = read("whole");
  ASSERT_THAT(whole.programs, SizeIs(1));
  const std::vector<std::string>& cells = whole.programs[0].cells;
  ASSERT_GT(cells.size(), 6U);
  ASSERT_THAT(whole.programs[0].outcomes, SizeIs(cells.size()));
  std::string option = "--output part";
  for (const std::size_t cell : {std::size_t{0}, cells.size() / 2, cells.size() - 1}) {
    kill_at(cells[cell]);
    ASSERT_EQ(sweep(option), killed) << said_;
    EXPECT_THAT(temporary(), IsEmpty());
    EXPECT_FALSE(read("part").programs[0].outcomes.contains(cell));
    EXPECT_EQ(read("part").list, whole.list);
    option = "--resume part";
  }
  kill_at("nothing");
  ASSERT_EQ(sweep(option), 1) << said_;
  expect_equal(read("part").programs[0], whole.programs[0]);
  EXPECT_EQ(read("part").programs[0].confirmations.size(), whole.programs[0].confirmations.size());
  EXPECT_EQ(merged("part"), merged("whole"));
}

TEST_F(SweepProcess, that_was_interrupted_names_the_way_to_continue) {
  ASSERT_EQ(sweep("--output whole"), 1) << said_;
  const RecordedSweep whole = read("whole");
  kill_at(whole.programs[0].cells.front(), "INT");
  sweep("--output part");
  EXPECT_THAT(said_,
              HasSubstr("to continue: the same command with --resume " + folder_.path("part")));
  EXPECT_THAT(said_, HasSubstr("; interrupted"));
  EXPECT_LT(read("part").programs[0].outcomes.size(), whole.programs[0].cells.size());
  kill_at("nothing");
  ASSERT_EQ(sweep("--resume part"), 1) << said_;
  expect_equal(read("part").programs[0], whole.programs[0]);
}

TEST_F(SweepProcess, goes_on_from_any_part_of_its_records) {
  ASSERT_EQ(sweep("--output whole"), 1) << said_;
  const RecordedSweep whole = read("whole");
  const std::string outcomes = folder_.read("whole/outcomes");
  const Json expected = merged("whole");
  std::uint64_t seed = hash_of(pretend::unique_text());
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::vector<std::size_t> sizes = {0, outcomes.rfind("\"times\""), outcomes.size()};
  for (int each = 0; each < 2; ++each) {
    sizes.push_back(1 + next_random(seed) % outcomes.size());
  }
  for (const std::size_t size : sizes) {
    SCOPED_TRACE(fmt::format("{} of {} bytes", size, outcomes.size()));
    folder_.write("whole/outcomes", outcomes.substr(0, size));
    ASSERT_EQ(sweep("--resume whole --json report"), 1) << said_;
    expect_equal(read("whole").programs[0], whole.programs[0]);
    EXPECT_EQ(merged("whole"), expected);
    EXPECT_EQ(Json::parse(folder_.read("report"))["violations"], expected["violations"]);
  }
}

TEST_F(SweepProcess, in_shards_finds_together_what_a_whole_one_finds) {
  ASSERT_EQ(sweep("--output whole"), 1) << said_;
  std::size_t outcomes = 0;
  for (int shard = 1; shard <= 4; ++shard) {
    sweep(fmt::format("--output part{} --shard {}/4 --costs whole", shard, shard));
    outcomes += read(fmt::format("part{}", shard)).programs[0].outcomes.size();
  }
  EXPECT_EQ(outcomes, read("whole").programs[0].outcomes.size());
  EXPECT_EQ(merged("part3 part1 part4 part2"), merged("whole"));
  EXPECT_EQ(run("merge whole --junit junit --sarif sarif"), 1);
  const Json three = merged("part1 part2 part4");
  EXPECT_THAT(said_, HasSubstr("shard 3/4"));
  EXPECT_LT(three["stories"][0]["tried"], three["stories"][0]["all_faults"]);
}

TEST_F(SweepProcess, tries_a_sample_and_later_the_rest) {
  sweep("--output some --sample 2 --seed 7");
  const RecordedSweep some = read("some");
  EXPECT_THAT(
      said_,
      HasSubstr(fmt::format("2 faults of {} drawn by seed 7", some.programs[0].cells.size())));
  EXPECT_THAT(some.programs[0].outcomes, SizeIs(2));
  sweep("--output same --sample 2 --seed 7");
  expect_equal(read("same").programs[0], some.programs[0]);
  EXPECT_EQ(sweep("--resume some"), 1) << said_;
  EXPECT_THAT(read("some").programs[0].outcomes, SizeIs(some.programs[0].cells.size()));
}

TEST_F(SweepProcess, of_a_suite_has_all_stories_before_the_first_fault) {
  ASSERT_EQ(run("run --suite lastref.toml --output whole"), 1) << said_;
  const RecordedSweep whole = read("whole");
  ASSERT_THAT(whole.programs, SizeIs(2));
  kill_at(whole.programs[0].cells.front());
  ASSERT_EQ(run("run --suite lastref.toml --output part"), killed) << said_;
  EXPECT_EQ(read("part").list, whole.list);
  EXPECT_THAT(read("part").programs[1].outcomes, SizeIs(0));
  kill_at("nothing");
  ASSERT_EQ(run("run --suite lastref.toml --resume part"), 1) << said_;
  for (std::size_t story = 0; story < 2; ++story) {
    expect_equal(read("part").programs[story], whole.programs[story]);
  }
  EXPECT_EQ(merged("part"), merged("whole"));
}

TEST_F(SweepProcess, of_a_suite_plans_no_story_after_an_interruption) {
  // The check runs several times, in copies of the folder; the mark is that of the process.
  const std::string check = fmt::format(
      "read pid < {}/pid; mark=/proc/$pid/oom_score_adj; "
      "test $(cat $mark) = 999 || {{ echo 999 > $mark; kill -INT $pid; }}",
      folder_.path());
  folder_.write("lastref.toml",
                fmt::format("[story.leak]\ncommand = \"true\"\ncheck = '{}'\n"
                            "[story.quiet]\ncommand = \"true\"\n",
                            check));
  EXPECT_EQ(run("run --suite lastref.toml --output part"), 3) << said_;
  EXPECT_THAT(said_, HasSubstr("story leak"));
  EXPECT_THAT(said_, Not(HasSubstr("story quiet")));
  EXPECT_THAT(said_, HasSubstr("0 of 2 stories tried; 0 new findings; interrupted"));
}

TEST_F(SweepProcess, of_a_suite_plans_no_story_after_the_end_of_the_budget) {
  EXPECT_EQ(run("run --suite lastref.toml --budget 0.001"), 3) << said_;
  EXPECT_THAT(said_, Not(HasSubstr("story quiet")));
  EXPECT_THAT(said_, HasSubstr("0 of 2 stories tried; 0 new findings"));
}

TEST_F(SweepProcess, of_a_suite_counts_runs_without_faults_against_the_budget_of_a_story) {
  folder_.write("lastref.toml", "[story.a]\ncommand = ': > kept'\nbudget = 0.01\n");
  EXPECT_EQ(run("run --suite lastref.toml"), 3) << said_;
  EXPECT_THAT(said_, HasSubstr("a              0 of "));
}

TEST_F(SweepProcess, lists_its_faults_and_tries_each_as_it_is_listed) {
  ASSERT_EQ(run("run --sweep --list -- sh -c ': > made; rm made'"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("fault   limit nofile=4\nfault   limit nofile=8\n"));
  EXPECT_THAT(said_, HasSubstr("fault   child.1/unlinkat("));
  ASSERT_EQ(run("run --fault 'limit nofile=4' -- true"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("INJECTED       limit nofile=4, during the whole run"));
}

#if defined(__x86_64__)
TEST_F(SweepProcess, tries_the_further_points_of_a_loop_last) {
  ASSERT_EQ(run("run --sweep --list --json listed -- "
                "sh -c 'for n in 1 2 3; do : > made$n; done; : > other'"),
            0)
      << said_;
  EXPECT_THAT(said_, HasSubstr("faults at further points of these sites come last"));
  const Json list = Json::parse(folder_.read("listed"))["list"];
  const auto is_at = [](const std::string& name) {
    return [name](const Json& fault) {
      return fault.get<std::string>().find(name) != std::string::npos;
    };
  };
  const auto of_loop = std::find_if(list.begin(), list.end(), is_at("made2"));
  ASSERT_NE(of_loop, list.end());
  EXPECT_TRUE(std::none_of(of_loop, list.end(), is_at("made1")));
  EXPECT_TRUE(std::none_of(of_loop, list.end(), is_at("other")));
  EXPECT_TRUE(std::none_of(of_loop, list.end(), is_at("limit")));
}

TEST_F(SweepProcess, shows_what_makes_the_call_of_a_finding) {
  folder_.write("job.py",
                "import os\n"
                "def publish():\n"
                "    open('part', 'w').close()\n"
                "    os.unlink('part')\n"
                "publish()\n");
  ASSERT_EQ(run("run --sweep --output found -- /usr/bin/python3 job.py"), 1) << said_;
  EXPECT_THAT(said_, HasSubstr("\n                at job.py:4 in publish\n"));
  EXPECT_THAT(merged("found")["violations"].dump(), HasSubstr("at job.py:4 in publish"));
}
#endif

TEST_F(SweepProcess, lists_limits_of_memory_that_a_program_exceeds) {
  folder_.write("hoard", "open F, '>made'; $n = 200 << 20; $x = 'a' x $n; unlink 'made'");
  ASSERT_EQ(run("run --sweep --list -- perl hoard"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("fault   limit as=128m\n"));
  EXPECT_EQ(run("run --fault 'limit as=128m' --private /tmp=overlay -- perl hoard"), 1) << said_;
  EXPECT_THAT(said_, HasSubstr("/made (file), made by root/openat("));
}

TEST_F(SweepProcess, does_not_use_the_folder_of_another_one) {
  folder_.make_folder("out");
  folder_.write("out/diary", "dear");
  EXPECT_EQ(sweep("--output out"), 2);
  EXPECT_THAT(said_, HasSubstr("it has diary"));
  sweep("--output new --sample 1");
  EXPECT_EQ(run("run --sweep --resume new -- true"), 2);
  EXPECT_THAT(said_, HasSubstr("new/list:2: it has {"));
  EXPECT_EQ(sweep("--resume nothing"), 2);
  EXPECT_EQ(run("merge new out"), 2);
  EXPECT_THAT(said_, HasSubstr("out/list: there is no such file"));
}

TEST_F(SweepProcess, ends_if_it_cannot_record) {
  sweep("--output out --sample 1");
  folder_.remove("out/logs");
  folder_.write("out/logs");
  EXPECT_EQ(sweep("--resume out"), 2);
  EXPECT_THAT(said_, HasSubstr("out/logs/1-"));
  EXPECT_THAT(said_, HasSubstr("Not a directory"));
  folder_.remove("out/logs");
  EXPECT_EQ(sweep("--resume out"), 1) << said_;
}

}  // namespace
}  // namespace lastref::harness
