// BenchmarkProgram: a program of Google Benchmark's, asked for one benchmark at a time.
//
// Each time is a process of its own, for a process has luck: where its memory lies, who its
// neighbours are. Many short ones tell more in the same time than few long ones. Of pairs of
// lastref_bench on two cores of a busy machine, (spread of a pair) x (root of its seconds), in %:
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
  double seconds_at_least = 0.005;  ///< of each process, by the clock that counts
  Environment environment = {};
  std::filesystem::path scratch;  ///< a folder for what it says; for one process at a time
  std::chrono::seconds patience = usual_patience;  ///< with each process
};

/// Names of the program's benchmarks that match, none twice; or why it has none.
tl::expected<std::vector<std::string>, std::string> benchmarks_of(const BenchmarkOptions& options,
                                                                  const Globs& globs);

/// The one benchmark, in a new process; or why it could not be measured. It has as many repetitions
/// as it asks for itself, all that have its name together.
tl::expected<MeasuredBenchmark, std::string> measure_benchmark(const BenchmarkOptions& options,
                                                               const std::string& name);

/// The regular expression, for Google Benchmark, that nothing but the name matches.
std::string filter_for(const std::string& name);

/// Whether the program reads this variable: its name is in the program's text. A program that does
/// not would take the others in between that another one leaves out, and so be colder.
bool knows_variable(const std::filesystem::path& program, const std::string& name);

/// Set, benchmarks measure nothing but what they are about.
inline constexpr const char* without_peers = "LASTREF_BENCH_WITHOUT_PEERS";

}  // namespace lastref::perf
