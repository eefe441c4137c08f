// google_benchmark: runs programs with Google Benchmark, and reads the JSON that they write.
//
// Only measurements are read: rows of single repetitions. Aggregates and complexities are left out,
// because they can be computed from these. Common mistakes:
// - The name decides which clock counts: wall time if a part of it is real_time or manual_time,
//   else processor time. See seconds_that_count.
// - The text may not be JSON: NaN and Infinity are printed as bare words. They are read as null.
// - A benchmark that could not run is in the run, with an error and meaningless times. So is a
//   benchmark that has only aggregates, if others have repetitions.
//
// Each measurement is a process of its own, because a process depends on chance: where its memory
// lies, and which other processes run. Many short processes show more in the same time than a few
// long ones: on a busy machine, (spread of a pair) x (square root of its seconds) is 2.5 % for
// tracker_hold_and_release with at least 0.005 s each, and 16 % with 0.1 s.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/perf/process.hpp"

namespace lastref::perf {

/// Shell patterns (fnmatch(3)) for whole names; '*' also matches '/'.
using Globs = std::vector<std::string>;

/// Whether a pattern matches, or there are no patterns.
bool match(const Globs& globs, const std::string& name);

/// A message for the user, with patterns that match a part of a name.
std::string no_benchmark_matches(const Globs& globs);

/// A glob that matches this name only.
std::string glob_for(const std::string& name);

/// One benchmark. Each list has one value per repetition, in the order of the text.
struct MeasuredBenchmark {
  std::string name;                       ///< with its arguments; all repetitions have the same
  std::vector<double> wall_seconds = {};  ///< per iteration
  std::vector<double> processor_seconds = {};  ///< per iteration
  std::vector<std::uint64_t> iterations = {};
  /// A rate is per second of the clock that counts. A value that is not a number is left out.
  std::map<std::string, std::vector<double>> counters = {};
  std::string label = {};
  /// Why a repetition failed, or why there is none. A failed repetition is in none of the lists.
  std::string error = {};

  bool operator==(const MeasuredBenchmark&) const = default;
};

struct BenchmarkRun {
  std::map<std::string, std::string> context;  ///< Strings and numbers; a list is JSON.
  std::vector<MeasuredBenchmark> benchmarks;   ///< in the order of the text, names are unique
};

/// Null if the run has no benchmark of this name.
const MeasuredBenchmark* find(const BenchmarkRun& run, const std::string& name);

/// Appends the repetitions of another run.
void append(MeasuredBenchmark& benchmark, const MeasuredBenchmark& more);

/// Parses a whole text. A text without benchmarks is a run that has none. Control characters in
/// strings are replaced by '?'.
///
/// Throws          what is wrong with the text
BenchmarkRun parse_run(std::string_view text);
/// Throws          as above, with the name of the file
BenchmarkRun read_run(const std::filesystem::path& path);

/// Whether wall time counts for the benchmark of this name, else processor time does.
bool wall_time_counts(std::string_view name);
/// Seconds per iteration, by the clock that counts.
const std::vector<double>& seconds_that_count(const MeasuredBenchmark& benchmark);

using Environment = std::vector<std::pair<std::string, std::string>>;

struct BenchmarkOptions {
  std::filesystem::path program;
  double seconds_at_least = 0.005;  ///< per process, by the clock that counts
  Environment environment = {};
  std::filesystem::path scratch;  ///< a folder for its output; for one process at a time
  std::chrono::seconds patience = usual_patience;  ///< limit for each process
  std::vector<std::string> words = {};             ///< more of its arguments
  bool is_shown = false;                           ///< It writes to our standard output and error.
};

/// The names of the program's benchmarks that match, without duplicates.
std::vector<std::string> benchmarks_of(const BenchmarkOptions& options, const Globs& globs);

/// Runs the benchmarks that a regular expression matches in a new process.
BenchmarkRun run_benchmarks(const BenchmarkOptions& options, const std::string& filter);

/// Measures one benchmark in a new process. The benchmark decides itself how many repetitions it
/// has. All repetitions of this name are in one result.
///
/// Throws          why there is no time of it
MeasuredBenchmark measure_benchmark(const BenchmarkOptions& options, const std::string& name);

/// A regular expression for Google Benchmark that matches this name only.
std::string filter_for(const std::string& name);

/// Whether the program reads this variable: its name is in the program's file. A program that does
/// not read without_peers also runs the peers. Its caches would be colder than those of a program
/// that leaves them out.
bool knows_variable(const std::filesystem::path& program, const std::string& name);

/// If this variable is set, benchmarks measure their subject only, and no peers.
inline constexpr const char* without_peers = "LASTREF_BENCH_WITHOUT_PEERS";

}  // namespace lastref::perf
