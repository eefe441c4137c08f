// compare: its results, for programs and commands that are small scripts.
#include "bench/perf/compare.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lastref::perf {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A row of Google Benchmark's JSON.
std::string row(const std::string& name, double nanoseconds) {
  return fmt::format(
      R"({{"name": "{0}", "run_name": "{0}", "run_type": "iteration", "iterations": 10, )"
      R"("real_time": {1}, "cpu_time": {1}, "time_unit": "ns"}})",
      name,
      nanoseconds);
}

class CompareTest : public testing::Test {
 protected:
  /// A program that lists these benchmarks, and writes these rows whichever is requested.
  std::string program(const std::string& list, const std::vector<std::string>& rows) {
    std::string path = scratch_.path() / "program";
    std::ofstream(path) << fmt::format(
        "#!/bin/sh\n"
        "for word; do case $word in\n"
        "  --benchmark_list_tests*) printf '{}'; exit ;;\n"
        "  --benchmark_out=*) out=${{word#*=}} ;;\n"
        "esac; done\n"
        "echo '{{\"context\": {{}}, \"benchmarks\": [{}]}}' >\"$out\"\n",
        list,
        fmt::join(rows, ", "));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  std::string file(const std::string& name, const std::vector<std::string>& rows) {
    std::string path = scratch_.path() / name;
    std::ofstream(path) << fmt::format(R"({{"benchmarks": [{}]}})", fmt::join(rows, ", "));
    return path;
  }

  ScratchFolder scratch_;
};

TEST_F(CompareTest, repetitions_of_a_process_are_one_value) {
  const std::string name = "b/repeats:3";
  const std::string path = program(name + "\\n", {row(name, 100), row(name, 300), row(name, 101)});
  const Comparison comparison = compare({.a = path, .b = path});
  ASSERT_EQ(comparison.rows.size(), 1U);
  EXPECT_EQ(comparison.rows[0].judgement.verdict, Verdict::same) << comparison.rows[0].error;
  EXPECT_THAT(comparison.rows[0].a, Each(DoubleNear(101e-9, 1e-15)));
}

TEST_F(CompareTest, a_benchmark_that_is_listed_twice_is_one) {
  const std::string path = program("b\\nb\\n", {row("b", 100), row("b", 102)});
  const Comparison comparison = compare({.a = path, .b = path});
  ASSERT_EQ(comparison.rows.size(), 1U);
  EXPECT_EQ(comparison.rows[0].judgement.verdict, Verdict::same) << comparison.rows[0].error;
}

TEST_F(CompareTest, a_command_that_cannot_be_started_is_no_measurement) {
  const std::string folder = scratch_.path();
  for (const std::string command : {"no_such_command_anywhere", "./no_such_file", "no/folder/{}"}) {
    EXPECT_THAT([&] { compare({.a = folder, .b = folder, .command = {command}}); },
                ThrowsMessage<std::runtime_error>(HasSubstr("cannot be started")));
  }
}

TEST_F(CompareTest, a_command_that_is_gone_after_a_pair_cannot_be_told) {
  const std::string path = scratch_.path() / "command";
  std::ofstream(path) << "#!/bin/sh\nif [ -e ran ]; then rm command; else touch ran; fi\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const std::string folder = scratch_.path();
  const Comparison comparison = compare({.a = folder, .b = folder, .command = {"./command"}});
  EXPECT_EQ(comparison.rows[0].a.size(), 1U);
  EXPECT_THAT(comparison.rows[0].error, HasSubstr("cannot be started"));
  EXPECT_EQ(exit_of(comparison), harness::Exit::incomplete);
}

TEST_F(CompareTest, a_benchmark_of_which_aggregates_alone_are_kept_cannot_be_told) {
  const std::string mean = R"({"name": "slow_mean", "run_name": "slow", "run_type": "aggregate",
      "aggregate_name": "mean", "real_time": 1, "cpu_time": 1, "time_unit": "ns"})";
  std::vector<std::string> rows(12, row("quick", 100));
  rows.push_back(mean);
  const std::string path = file("run.json", rows);
  const Comparison comparison = compare({.a = path, .b = path});
  ASSERT_EQ(comparison.rows.size(), 2U);
  EXPECT_EQ(comparison.rows[0].judgement.verdict, Verdict::same);
  EXPECT_EQ(comparison.rows[1].name, "slow");
  EXPECT_THAT(comparison.rows[1].judgement.why, HasSubstr("A: only aggregates"));
  EXPECT_EQ(exit_of(comparison), harness::Exit::incomplete);
}

}  // namespace
}  // namespace lastref::perf
