#include "bench/perf/google_benchmark.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "bench/perf/files.hpp"

namespace lastref::perf {
namespace {

using Json = nlohmann::ordered_json;

/// The text with a backslash before each special character.
std::string escaped(const std::string& text, std::string_view special) {
  std::string all;
  for (const char letter : text) {
    all += special.find(letter) == std::string_view::npos ? "" : "\\";
    all += letter;
  }
  return all;
}

bool is_of_a_word(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

/// Replaces each bare NaN and Infinity, of either sign, by null; strings stay unchanged.
std::string without_bare_words(std::string_view text) {
  constexpr std::array<std::string_view, 4> words = {"NaN", "-NaN", "Infinity", "-Infinity"};
  std::string clean;
  clean.reserve(text.size());
  bool is_in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    if (is_in_string && rest.front() == '\\') {
      clean += rest.substr(0, 2);
      ++at;
      continue;
    }
    is_in_string ^= rest.front() == '"';
    const auto is_here = [&](std::string_view word) {
      return rest.starts_with(word) &&
             (rest.size() == word.size() || !is_of_a_word(rest[word.size()]));
    };
    const auto* const word = std::ranges::find_if(words, is_here);
    if (!is_in_string && word != words.end()) {
      clean += "null";
      at += word->size() - 1;
    } else {
      clean += rest.front();
    }
  }
  return clean;
}

/// UTF-8 without terminal controls: those of one byte, and those of two (C1).
std::string without_controls(std::string text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto code = static_cast<unsigned char>(text[at]);
    const auto next = static_cast<unsigned char>(at + 1 < text.size() ? text[at + 1] : 0);
    if (code < ' ' || code == 0x7f) {
      text[at] = '?';
    } else if (code == 0xc2 && next >= 0x80 && next < 0xa0) {
      text.replace(at, 2, "?");
    }
  }
  return text;
}

std::string word_in(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? without_controls(found->get<std::string>())
                                                  : std::string();
}

/// The number of seconds in a unit; Google Benchmark has these four.
std::optional<double> seconds_of_unit(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 4> units = {
      {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  const auto* const found = std::ranges::find(units, unit, &decltype(units)::value_type::first);
  return found == units.end() ? std::nullopt : std::optional(found->second);
}

/// The keys here are known numbers of rows; all other numbers are counters.
bool is_counter(std::string_view key) {
  constexpr std::array<std::string_view, 8> known = {"family_index",
                                                     "per_family_instance_index",
                                                     "repetitions",
                                                     "repetition_index",
                                                     "threads",
                                                     "iterations",
                                                     "real_time",
                                                     "cpu_time"};
  return std::ranges::find(known, key) == known.end();
}

constexpr const char* not_a_run = "not the JSON of Google Benchmark: ";
constexpr const char* only_aggregates =
    "only aggregates: run it without --benchmark_report_aggregates_only";

/// Whether an aggregate is one of repetitions. A complexity belongs to a whole family of benchmarks
/// and has the name of the family.
bool is_of_repetitions(const Json& aggregate) {
  const std::string name = word_in(aggregate, "aggregate_name");
  return name != "BigO" && name != "RMS";
}

std::string error_in(const Json& row) {
  const auto is_set = [&](const char* key) {
    const auto found = row.find(key);
    return found != row.end() && found->is_boolean() && found->get<bool>();
  };
  if (is_set("error_occurred")) {
    const std::string message = word_in(row, "error_message");
    return message.empty() ? "no reason given" : message;
  }
  if (is_set("skipped")) {  // Google Benchmark 1.8 and later.
    const std::string message = word_in(row, "skip_message");
    return message.empty() ? "skipped" : message;
  }
  return {};
}

std::optional<double> time_in(const Json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_number()) {
    return std::nullopt;
  }
  const auto time = found->get<double>();
  return std::isfinite(time) && time >= 0 ? std::optional(time) : std::nullopt;
}

/// Reads rows into a run.
class Reader {
 public:
  OrWhy<void> read(const Json& row) {
    const std::string name = name_of(row);
    if (name.empty()) {
      return no(fmt::format("row {} of the benchmarks has no name", rows_ + 1));
    }
    ++rows_;
    if (word_in(row, "run_type") == "aggregate") {
      if (is_of_repetitions(row)) {
        benchmark_of(name);
      }
      return {};
    }
    has_repetitions_ = true;
    MeasuredBenchmark& benchmark = benchmark_of(name);
    if (std::string error = error_in(row); !error.empty()) {
      benchmark.error = std::move(error);
      return {};
    }
    const std::string unit = row.contains("time_unit") ? word_in(row, "time_unit") : "ns";
    const std::optional<double> scale = seconds_of_unit(unit);
    if (!scale) {
      return no(fmt::format("a unit of time that is not known, of {}: \"{}\"", name, unit));
    }
    const std::optional<double> wall = time_in(row, "real_time");
    const std::optional<double> processor = time_in(row, "cpu_time");
    if (!wall || !processor) {
      return no(name + " has no time, or one that cannot be");
    }
    benchmark.wall_seconds.push_back(*wall * *scale);
    benchmark.processor_seconds.push_back(*processor * *scale);
    const auto iterations = row.find("iterations");
    benchmark.iterations.push_back(iterations != row.end() && iterations->is_number_unsigned()
                                       ? iterations->get<std::uint64_t>()
                                       : 0);
    benchmark.label = word_in(row, "label");
    read_counters(row, benchmark);
    return {};
  }

  bool has_aggregates_alone() const noexcept { return rows_ > 0 && !has_repetitions_; }

  /// Returns everything that was read. May only be called once, at the end.
  BenchmarkRun run() {
    for (MeasuredBenchmark& benchmark : run_.benchmarks) {
      if (benchmark.wall_seconds.empty() && benchmark.error.empty()) {
        benchmark.error = only_aggregates;
      }
    }
    return std::move(run_);
  }

 private:
  /// In old versions a repetition has no run_name; its name is the same for all repetitions.
  static std::string name_of(const Json& row) {
    if (!row.is_object()) {
      return {};
    }
    const std::string name = word_in(row, "run_name");
    return name.empty() ? word_in(row, "name") : name;
  }

  MeasuredBenchmark& benchmark_of(const std::string& name) {
    const auto [found, is_new] = places_.try_emplace(name, run_.benchmarks.size());
    if (is_new) {
      run_.benchmarks.emplace_back().name = name;
    }
    return run_.benchmarks[found->second];
  }

  static void read_counters(const Json& row, MeasuredBenchmark& benchmark) {
    for (const auto& [key, value] : row.items()) {
      if (value.is_number() && is_counter(key)) {
        benchmark.counters[without_controls(key)].push_back(value.get<double>());
      }
    }
  }

  BenchmarkRun run_;
  std::map<std::string, std::size_t> places_;
  std::size_t rows_ = 0;
  bool has_repetitions_ = false;
};

std::map<std::string, std::string> context_in(const Json& run) {
  std::map<std::string, std::string> context;
  if (const auto found = run.find("context"); found != run.end() && found->is_object()) {
    for (const auto& [key, value] : found->items()) {
      // The parser has already refused bytes that are not UTF-8.
      context[key] = value.is_string() ? without_controls(value.get<std::string>()) : value.dump();
    }
  }
  return context;
}

}  // namespace

bool match(const Globs& globs, const std::string& name) {
  return globs.empty() || std::ranges::any_of(globs, [&](const std::string& glob) {
           return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
         });
}

std::string no_benchmark_matches(const Globs& globs) {
  if (globs.empty()) {
    return "there is no benchmark";
  }
  const std::string& first = globs.front();
  return fmt::format("no benchmark matches {}; a pattern is of whole names: '{}' or '*{}*' may do",
                     fmt::join(globs, " or "),
                     first + "/*",
                     first);
}

std::string glob_for(const std::string& name) {
  return escaped(name, R"(\*?[)");
}

OrWhy<BenchmarkRun> parse_run(std::string_view text) {
  Json all;
  try {
    all = Json::parse(without_bare_words(text));
  } catch (const Json::exception& error) {
    return no(std::string(not_a_run) + error.what());
  }
  const auto rows = all.is_object() ? all.find("benchmarks") : all.end();
  if (!all.is_object() || rows == all.end() || !rows->is_array()) {
    return no(std::string(not_a_run) + "there is no list of benchmarks");
  }
  Reader reader;
  for (const Json& row : *rows) {
    if (const auto is_read = reader.read(row); !is_read) {
      return no(is_read.error());
    }
  }
  if (reader.has_aggregates_alone()) {
    return no(only_aggregates);
  }
  BenchmarkRun run = reader.run();
  run.context = context_in(all);
  return run;
}

OrWhy<BenchmarkRun> read_run(const std::filesystem::path& path) {
  std::error_code error;
  const auto text = text_of(path);
  if (!text || !std::filesystem::is_regular_file(path, error)) {
    return no(path.string() + " cannot be read");
  }
  return parse_run(*text).map_error(
      [&](const std::string& why) { return path.string() + ": " + why; });
}

bool wall_time_counts(std::string_view name) {
  // The first part is the name of the benchmark's function.
  while (name.find('/') != std::string_view::npos) {
    name.remove_prefix(name.find('/') + 1);
    const std::string_view part = name.substr(0, name.find('/'));
    if (part == "real_time" || part == "manual_time") {
      return true;
    }
  }
  return false;
}

const std::vector<double>& seconds_that_count(const MeasuredBenchmark& benchmark) {
  return wall_time_counts(benchmark.name) ? benchmark.wall_seconds : benchmark.processor_seconds;
}

OrWhy<std::vector<std::string>> benchmarks_of(const BenchmarkOptions& options, const Globs& globs) {
  const auto said = output_of(
      {.words = {options.program.string(), "--benchmark_list_tests=true", "--benchmark_filter=all"},
       .environment = options.environment});
  if (!said) {
    return no(describe(said.error()));
  }
  std::vector<std::string> names;
  std::istringstream lines(*said);
  for (std::string line; std::getline(lines, line);) {
    const bool is_known = std::ranges::find(names, line) != names.end();
    if (!line.empty() && !is_known && match(globs, line)) {
      names.push_back(line);
    }
  }
  return names;
}

OrWhy<BenchmarkRun> run_benchmarks(const BenchmarkOptions& options, const std::string& filter) {
  const std::filesystem::path json = options.scratch / "run.json";
  std::error_code error;
  std::filesystem::remove(json, error);
  ProcessOptions process{
      .words = {options.program.string(),
                "--benchmark_filter=" + filter,
                fmt::format("--benchmark_min_time={}", options.seconds_at_least),
                "--benchmark_out=" + json.string(),
                "--benchmark_out_format=json"},
      .environment = options.environment,
      .log = options.is_shown ? std::filesystem::path() : options.scratch / "run.log",
      .patience = options.patience};
  process.words.insert(process.words.end(), options.words.begin(), options.words.end());
  if (const auto done = run_measured(process); !done) {
    return no(describe(done.error()));
  }
  return read_run(json);
}

OrWhy<MeasuredBenchmark> measure_benchmark(const BenchmarkOptions& options,
                                           const std::string& name) {
  auto run = run_benchmarks(options, filter_for(name));
  if (!run) {
    return no(run.error());
  }
  const auto found = std::ranges::find(run->benchmarks, name, &MeasuredBenchmark::name);
  if (found == run->benchmarks.end()) {
    return no("it is not there");
  }
  return found->error.empty() ? OrWhy<MeasuredBenchmark>(std::move(*found))
                              : no("it could not be done: " + found->error);
}

std::string filter_for(const std::string& name) {
  return '^' + escaped(name, R"(\^$.|?*+()[]{})") + '$';
}

bool knows_variable(const std::filesystem::path& program, const std::string& name) {
  return text_of(program).value_or("").find(name) != std::string::npos;
}

}  // namespace lastref::perf
