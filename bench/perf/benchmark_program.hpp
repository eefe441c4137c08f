// BenchmarkProgram: a Google Benchmark program that runs one benchmark at a time.
//
// Each measurement is a process of its own, because a process depends on chance: where its memory
// lies, and which other processes run. Many short processes tell more in the same time than a few
// long ones. The table has (spread of a pair) x (square root of its seconds), in %, for pairs of
// lastref_bench on two cores of a busy machine:
//
//   seconds at least, repetitions      0.005, 1   0.02, 1   0.1, 1   0.01, 5
//   registry_hold_and_release/512           0.3       0.6      1.4       0.6
//   registry_drop/512                       0.8       1.0      2.2       1.4
//   reduce_a_known_array/1000000            2.6       3.4     14.6       2.5
//   tracker_hold_and_release                2.5       7.0     16.0       3.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "bench/perf/globs.hpp"
#include "bench/perf/google_benchmark.hpp"
#include "bench/perf/measured_process.hpp"

namespace lastref::perf {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct BenchmarkOptions {
  std::filesystem::path program;
  double seconds_at_least = 0.005;  ///< per process, by the clock that counts
  Environment environment = {};
  std::filesystem::path scratch;  ///< a folder for its output; for one process at a time
  std::chrono::seconds patience = usual_patience;  ///< limit for each process
};

/// The names of the program's benchmarks that match, without duplicates; or why the program cannot
/// list them.
tl::expected<std::vector<std::string>, std::string> benchmarks_of(const BenchmarkOptions& options,
                                                                  const Globs& globs);

/// Measures one benchmark in a new process, or returns why that failed. The benchmark decides
/// itself how many repetitions it has. All repetitions of this name are in one result.
tl::expected<MeasuredBenchmark, std::string> measure_benchmark(const BenchmarkOptions& options,
                                                               const std::string& name);

/// A regular expression for Google Benchmark that matches this name only.
std::string filter_for(const std::string& name);

/// Whether the program reads this variable: its name is in the program's file. A program that does
/// not read without_peers also runs the peers. Its caches would be colder than those of a program
/// that leaves them out.
bool knows_variable(const std::filesystem::path& program, const std::string& name);

/// If this variable is set, benchmarks measure their subject only, and no peers.
inline constexpr const char* without_peers = "LASTREF_BENCH_WITHOUT_PEERS";

}  // namespace lastref::perf
