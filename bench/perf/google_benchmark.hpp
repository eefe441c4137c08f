// GoogleBenchmark: what a run of Google Benchmark has measured, read from its JSON.
//
// Only what was measured is read: rows of single repetitions. Aggregates and complexities are left
// out, for they can be had of these. What a newcomer would get wrong:
// - Which clock counts is in the name: wall time if a part of it is real_time or manual_time, else
//   processor time. See seconds_that_count.
// - The text may be no JSON: NaN and Infinity are printed as bare words. They are read as nothing.
// - A benchmark that could not run is there, with an error and times that mean nothing. So is one
//   of which there are aggregates alone, beside others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace lastref::perf {

/// One benchmark. Each list has a value for each repetition, in the order of the text.
struct MeasuredBenchmark {
  std::string name;                       ///< with its arguments; all repetitions have the same
  std::vector<double> wall_seconds;       ///< an iteration
  std::vector<double> processor_seconds;  ///< an iteration
  std::vector<std::uint64_t> iterations;
  /// A rate is for a second of the clock that counts. A value that was none is left out.
  std::map<std::string, std::vector<double>> counters = {};
  std::string label = {};
  /// Why a repetition could not be done, or there is none; it is in none of the lists.
  std::string error = {};
};

struct BenchmarkRun {
  std::map<std::string, std::string> context;  ///< Words and numbers; a list is JSON.
  std::vector<MeasuredBenchmark> benchmarks;   ///< in the order of the text, no name twice
};

/// Why a text cannot be read.
struct UnreadableRun {
  enum class Why : std::uint8_t {
    no_file,          ///< It cannot be opened or read; `where` is its path.
    not_json,         ///< cut off, say; `where` is what the parser makes of it
    not_a_run,        ///< JSON without a list `benchmarks`
    not_a_benchmark,  ///< a row that is no object, or has no name
    no_time,          ///< a row without times, or with one that is below zero or no number
    unknown_unit,     ///< of a time
    aggregates_only,  ///< Nothing was measured but what was left out.
  };
  Why why = Why::not_json;
  std::string where;  ///< the benchmark, or what else says where to look

  bool operator==(const UnreadableRun&) const = default;
};

/// One line for people.
std::string describe(const UnreadableRun& unreadable);

/// Reads a whole text. A text with no benchmark at all is a run that has none. Words have ? for
/// what a terminal would obey.
tl::expected<BenchmarkRun, UnreadableRun> parse_run(std::string_view text);
tl::expected<BenchmarkRun, UnreadableRun> read_run(const std::filesystem::path& path);

/// Whether the wall clock counts, or the processor's.
bool wall_time_counts(std::string_view name);
/// Seconds an iteration, by the clock that counts.
const std::vector<double>& seconds_that_count(const MeasuredBenchmark& benchmark);

}  // namespace lastref::perf
