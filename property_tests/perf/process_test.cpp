// process and google_benchmark: which command is run, and how it can fail.
#include "bench/perf/process.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "bench/perf/files.hpp"
#include "bench/perf/google_benchmark.hpp"

namespace lastref::perf {
namespace {

using testing::HasSubstr;
using Why = FailedProcess::Why;

ProcessOptions shell(const std::string& script) {
  return {.words = {"sh", "-c", script}};
}

TEST(MeasuredProcess, takes_wall_time_and_processor_time) {
  const auto busy = run_measured(shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"));
  ASSERT_TRUE(busy) << describe(busy.error());
  EXPECT_GT(busy->processor_seconds, 0);
  EXPECT_GE(busy->wall_seconds * 1.1 + 0.02, busy->processor_seconds);
}

TEST(MeasuredProcess, counts_children_that_were_waited_for) {
  const auto child =
      run_measured(shell("sh -c 'i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done'; true"));
  ASSERT_TRUE(child) << describe(child.error());
  EXPECT_GT(child->processor_seconds, 0.005);
}

TEST(MeasuredProcess, says_how_it_failed) {
  const ScratchFolder scratch;
  ProcessOptions options = shell("echo first; echo the disk is full >&2; exit 7");
  options.log = scratch.path() / "log";
  const auto failed = run_measured(options);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().why, Why::exit_code);
  EXPECT_EQ(failed.error().code, 7);
  EXPECT_EQ(failed.error().said, "the disk is full");
  EXPECT_THAT(describe(failed.error()), HasSubstr("sh ended with exit code 7: the disk is full"));
}

TEST(MeasuredProcess, knows_a_signal_and_a_program_that_is_not_there) {
  const auto killed = run_measured(shell("kill -9 $$"));
  ASSERT_FALSE(killed);
  EXPECT_EQ(killed.error().why, Why::killed);
  EXPECT_EQ(killed.error().code, 9);
  const auto absent = run_measured({.words = {"/no/such/program"}});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().why, Why::not_started);
  EXPECT_THAT(describe(absent.error()), HasSubstr("No such file"));
}

TEST(MeasuredProcess, kills_what_does_not_end_with_its_children) {
  const ScratchFolder scratch;
  const std::string fifo = scratch.path() / "fifo";
  ASSERT_TRUE(run_measured({.words = {"mkfifo", fifo}}));
  std::string said;
  std::thread until_nobody_can_say_more([&] {
    std::ifstream file(fifo);
    said.assign(std::istreambuf_iterator<char>(file), {});
  });
  ProcessOptions options = shell("exec 3>" + fifo + "; echo on >&3; tail -f /dev/null; true");
  options.patience = std::chrono::seconds(1);
  const auto slow = run_measured(options);
  until_nobody_can_say_more.join();
  EXPECT_EQ(said, "on\n");
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().why, Why::too_slow);
}

TEST(MeasuredProcess, has_its_own_folder_and_variables) {
  const ScratchFolder scratch;
  ProcessOptions options = shell("pwd; echo $COLOUR; echo not this >&2");
  options.folder = scratch.path();
  options.environment = {{"COLOUR", "blue"}};
  const auto said = output_of(options);
  ASSERT_TRUE(said) << describe(said.error());
  EXPECT_EQ(*said, scratch.path().string() + "\nblue\n");
}

TEST(MeasuredProcess, does_not_see_variables_that_it_is_to_be_without) {
  ProcessOptions options = shell("echo ${HOME-none} ${PATH:+some}");
  options.without = {"HOME", "PAT"};
  EXPECT_EQ(output_of(options).value(), "none some\n");
}

TEST(ScratchFolder, goes_with_all_that_is_in_it) {
  std::filesystem::path path;
  {
    const ScratchFolder scratch;
    path = scratch.path();
    EXPECT_TRUE(std::filesystem::is_directory(path));
    std::filesystem::create_directories(path / "a/b");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(BenchmarkProgram, a_filter_is_for_one_name) {
  EXPECT_EQ(filter_for("put/bytes:100/real_time"), "^put/bytes:100/real_time$");
  EXPECT_EQ(filter_for("f<a(b)>/1.5"), R"(^f<a\(b\)>/1\.5$)");
}

TEST(BenchmarkProgram, one_that_is_not_there_is_said_to_be_so) {
  const ScratchFolder scratch;
  const BenchmarkOptions options{.program = "/no/such/bench", .scratch = scratch.path()};
  EXPECT_FALSE(benchmarks_of(options, {}));
  EXPECT_FALSE(measure_benchmark(options, "x"));
  EXPECT_FALSE(knows_variable("/no/such/bench", "HOME"));
}

TEST(BenchmarkProgram, that_measures_nothing_is_told_from_one_that_fails) {
  const ScratchFolder scratch;
  const BenchmarkOptions options{.program = "/bin/true", .scratch = scratch.path()};
  const auto none = measure_benchmark(options, "x");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error(), HasSubstr("cannot be read"));
  EXPECT_TRUE(benchmarks_of(options, {}).value().empty());
}

}  // namespace
}  // namespace lastref::perf
