// GoogleBenchmark: the measurements of a Google Benchmark run, read from its JSON.
//
// Only measurements are read: rows of single repetitions. Aggregates and complexities are left out,
// because they can be computed from these. Common mistakes:
// - The name decides which clock counts: wall time if a part of it is real_time or manual_time,
//   else processor time. See seconds_that_count.
// - The text may not be JSON: NaN and Infinity are printed as bare words. They are read as null.
// - A benchmark that could not run is in the run, with an error and meaningless times. So is a
//   benchmark that has only aggregates, if others have repetitions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace lastref::perf {

/// One benchmark. Each list has one value per repetition, in the order of the text.
struct MeasuredBenchmark {
  std::string name;                       ///< with its arguments; all repetitions have the same
  std::vector<double> wall_seconds;       ///< per iteration
  std::vector<double> processor_seconds;  ///< per iteration
  std::vector<std::uint64_t> iterations;
  /// A rate is per second of the clock that counts. A value that is not a number is left out.
  std::map<std::string, std::vector<double>> counters = {};
  std::string label = {};
  /// Why a repetition failed, or why there is none. A failed repetition is in none of the lists.
  std::string error = {};
};

struct BenchmarkRun {
  std::map<std::string, std::string> context;  ///< Strings and numbers; a list is JSON.
  std::vector<MeasuredBenchmark> benchmarks;   ///< in the order of the text, names are unique
};

/// Why a text cannot be read.
struct UnreadableRun {
  enum class Why : std::uint8_t {
    no_file,          ///< It cannot be opened or read; `where` is its path.
    not_json,         ///< For example truncated; `where` is the parser's message.
    not_a_run,        ///< JSON without a list `benchmarks`
    not_a_benchmark,  ///< a row that is not an object, or has no name
    no_time,          ///< a row without times, or with one that is negative or not a number
    unknown_unit,     ///< A time has an unknown unit.
    aggregates_only,  ///< There are no rows of repetitions.
  };
  Why why = Why::not_json;
  std::string where;  ///< the benchmark, or another place in the file

  bool operator==(const UnreadableRun&) const = default;
};

/// One line for the user.
std::string describe(const UnreadableRun& unreadable);

/// Parses a whole text. A text without benchmarks is a run that has none. Control characters in
/// strings are replaced by '?'.
tl::expected<BenchmarkRun, UnreadableRun> parse_run(std::string_view text);
tl::expected<BenchmarkRun, UnreadableRun> read_run(const std::filesystem::path& path);

/// Whether wall time counts for the benchmark of this name, else processor time does.
bool wall_time_counts(std::string_view name);
/// Seconds per iteration, by the clock that counts.
const std::vector<double>& seconds_that_count(const MeasuredBenchmark& benchmark);

}  // namespace lastref::perf
