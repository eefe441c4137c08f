// process and google_benchmark: which command is run, and how it can fail.
#include "bench/perf/process.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/perf/files.hpp"
#include "bench/perf/google_benchmark.hpp"

namespace lastref::perf {
namespace {

using testing::HasSubstr;
using Why = FailedProcess::Why;

ProcessOptions shell(const std::string& script) {
  return {.words = {"sh", "-c", script}};
}

void expect_failure(const ProcessOptions& options, Why why, int code, const std::string& text) {
  try {
    run_measured(options);
    FAIL() << "it did not fail";
  } catch (const FailedProcess& failed) {
    EXPECT_EQ(failed.why, why) << failed.what();
    EXPECT_EQ(failed.code, code) << failed.what();
    EXPECT_THAT(failed.what(), HasSubstr(text));
  }
}

TEST(MeasuredProcess, takes_wall_time_and_processor_time) {
  const ProcessTimes busy = run_measured(shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"));
  EXPECT_GT(busy.processor_seconds, 0);
  EXPECT_GE(busy.wall_seconds * 1.1 + 0.02, busy.processor_seconds);
}

TEST(MeasuredProcess, counts_children_that_were_waited_for) {
  const ProcessTimes child =
      run_measured(shell("sh -c 'i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done'; true"));
  EXPECT_GT(child.processor_seconds, 0.005);
}

TEST(MeasuredProcess, says_how_it_failed) {
  const ScratchFolder scratch;
  ProcessOptions options = shell("echo first; echo the disk is full >&2; exit 7");
  options.log = scratch.path() / "log";
  expect_failure(options, Why::exit_code, 7, "sh ended with exit code 7: the disk is full");
  expect_failure(shell("kill -9 $$"), Why::killed, 9, "sh was killed by signal 9");
  expect_failure({.words = {"/no/such/program"}}, Why::not_started, ENOENT, "No such file");
}

TEST(MeasuredProcess, kills_what_does_not_end_with_its_children) {
  const ScratchFolder scratch;
  const std::string fifo = scratch.path() / "fifo";
  run_measured({.words = {"mkfifo", fifo}});
  std::string said;
  std::thread until_all_writers_have_ended([&] {
    std::ifstream file(fifo);
    said.assign(std::istreambuf_iterator<char>(file), {});
  });
  ProcessOptions options = shell("exec 3>" + fifo + "; echo on >&3; tail -f /dev/null; true");
  options.patience = std::chrono::seconds(1);
  expect_failure(options, Why::too_slow, 1, "sh did not end within 1 s");
  until_all_writers_have_ended.join();
  EXPECT_EQ(said, "on\n");
}

TEST(MeasuredProcess, has_its_own_folder_and_variables) {
  const ScratchFolder scratch;
  ProcessOptions options =
      shell("pwd; echo $COLOUR; echo ${HOME-none} ${PATH:+some}; echo not this >&2");
  options.folder = scratch.path();
  options.environment = {{"COLOUR", "blue"}};
  options.without = {"HOME", "PAT"};
  EXPECT_EQ(output_of(options), scratch.path().string() + "\nblue\nnone some\n");
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
  const BenchmarkOptions options{.program = "/no/such/bench", .scratch = {}};
  EXPECT_THROW(benchmarks_of(options, {}), FailedProcess);
  EXPECT_THROW(measure_benchmark(options, "x"), FailedProcess);
  EXPECT_FALSE(knows_variable("/no/such/bench", "HOME"));
}

TEST(BenchmarkProgram, that_measures_nothing_is_told_from_one_that_fails) {
  const ScratchFolder scratch;
  const BenchmarkOptions options{.program = "/bin/true", .scratch = scratch.path()};
  EXPECT_THAT([&] { measure_benchmark(options, "x"); },
              testing::ThrowsMessage<std::runtime_error>(HasSubstr("cannot be read")));
  EXPECT_TRUE(benchmarks_of(options, {}).empty());
}

}  // namespace
}  // namespace lastref::perf
