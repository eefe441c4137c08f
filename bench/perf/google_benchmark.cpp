#include "bench/perf/google_benchmark.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "bench/perf/files.hpp"
#include "harness/report/json_members.hpp"

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
  return without_controls(harness::text_of(row, key));
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

/// In old versions a repetition has no run_name; its name is the same for all repetitions.
std::string name_of(const Json& row) {
  const std::string name = word_in(row, "run_name");
  return name.empty() ? word_in(row, "name") : name;
}

std::string error_in(const Json& row) {
  if (harness::member_of(row, "error_occurred") == true) {
    const std::string message = word_in(row, "error_message");
    return message.empty() ? "no reason given" : message;
  }
  if (harness::member_of(row, "skipped") == true) {  // Google Benchmark 1.8 and later.
    const std::string message = word_in(row, "skip_message");
    return message.empty() ? "skipped" : message;
  }
  return {};
}

double time_in(const Json& row, const char* key) {
  const Json& member = harness::member_of(row, key);
  const double time = member.is_number() ? member.get<double>() : -1;
  if (!std::isfinite(time) || time < 0) {
    give_up("{} has no time, or one that cannot be", name_of(row));
  }
  return time;
}

void add_repetition(const Json& row, MeasuredBenchmark& benchmark) {
  if (std::string error = error_in(row); !error.empty()) {
    benchmark.error = std::move(error);
    return;
  }
  const std::string unit = row.contains("time_unit") ? word_in(row, "time_unit") : "ns";
  const std::optional<double> scale = seconds_of_unit(unit);
  if (!scale) {
    give_up("a unit of time that is not known, of {}: \"{}\"", benchmark.name, unit);
  }
  benchmark.wall_seconds.push_back(time_in(row, "real_time") * *scale);
  benchmark.processor_seconds.push_back(time_in(row, "cpu_time") * *scale);
  const Json& iterations = harness::member_of(row, "iterations");
  benchmark.iterations.push_back(iterations.is_number_unsigned() ? iterations.get<std::uint64_t>()
                                                                 : 0);
  benchmark.label = word_in(row, "label");
  for (const auto& [key, value] : row.items()) {
    if (value.is_number() && is_counter(key)) {
      benchmark.counters[without_controls(key)].push_back(value.get<double>());
    }
  }
}

/// A complexity is of a whole family of benchmarks, and has the name of the family.
bool is_complexity(const Json& row) {
  const std::string name = word_in(row, "aggregate_name");
  return name == "BigO" || name == "RMS";
}

std::map<std::string, std::string> context_in(const Json& run) {
  std::map<std::string, std::string> context;
  for (const auto& [key, value] : harness::member_of(run, "context").items()) {
    // The parser has already refused bytes that are not UTF-8.
    context[key] = value.is_string() ? without_controls(value.get<std::string>()) : value.dump();
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

void append(MeasuredBenchmark& benchmark, const MeasuredBenchmark& more) {
  const auto add = [](auto& all, const auto& values) {
    all.insert(all.end(), values.begin(), values.end());
  };
  add(benchmark.wall_seconds, more.wall_seconds);
  add(benchmark.processor_seconds, more.processor_seconds);
  add(benchmark.iterations, more.iterations);
  for (const auto& [name, values] : more.counters) {
    add(benchmark.counters[name], values);
  }
  if (benchmark.error.empty()) {
    benchmark.error = more.error;
  }
}

const MeasuredBenchmark* find(const BenchmarkRun& run, const std::string& name) {
  const auto found = std::ranges::find(run.benchmarks, name, &MeasuredBenchmark::name);
  return found == run.benchmarks.end() ? nullptr : &*found;
}

BenchmarkRun parse_run(std::string_view text) {
  Json all;
  try {
    all = Json::parse(without_bare_words(text));
  } catch (const Json::exception& error) {
    give_up("{}{}", not_a_run, error.what());
  }
  const Json& rows = harness::member_of(all, "benchmarks");
  if (!rows.is_array()) {
    give_up("{}there is no list of benchmarks", not_a_run);
  }
  BenchmarkRun run{.context = context_in(all), .benchmarks = {}};
  std::map<std::string, std::size_t> places;
  bool has_repetitions = false;
  for (const Json& row : rows) {
    const std::string name = name_of(row);
    if (name.empty()) {
      give_up("row {} of the benchmarks has no name", &row - &rows.front() + 1);
    }
    const bool is_aggregate = word_in(row, "run_type") == "aggregate";
    if (is_aggregate && is_complexity(row)) {
      continue;
    }
    const auto [place, is_new] = places.try_emplace(name, run.benchmarks.size());
    if (is_new) {
      run.benchmarks.emplace_back().name = name;
    }
    if (!is_aggregate) {
      has_repetitions = true;
      add_repetition(row, run.benchmarks[place->second]);
    }
  }
  if (!rows.empty() && !has_repetitions) {
    give_up(only_aggregates);
  }
  for (MeasuredBenchmark& benchmark : run.benchmarks) {
    if (benchmark.wall_seconds.empty() && benchmark.error.empty()) {
      benchmark.error = only_aggregates;
    }
  }
  return run;
}

BenchmarkRun read_run(const std::filesystem::path& path) {
  std::error_code error;
  const auto text = text_of(path);
  if (!text || !std::filesystem::is_regular_file(path, error)) {
    give_up("{} cannot be read", path.string());
  }
  try {
    return parse_run(*text);
  } catch (const std::runtime_error& wrong) {
    give_up("{}: {}", path.string(), wrong.what());
  }
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

std::vector<std::string> benchmarks_of(const BenchmarkOptions& options, const Globs& globs) {
  std::istringstream lines(output_of(
      {.words = {options.program.string(), "--benchmark_list_tests=true", "--benchmark_filter=all"},
       .environment = options.environment}));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    const bool is_known = std::ranges::find(names, line) != names.end();
    if (!line.empty() && !is_known && match(globs, line)) {
      names.push_back(line);
    }
  }
  return names;
}

BenchmarkRun run_benchmarks(const BenchmarkOptions& options, const std::string& filter) {
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
  run_measured(process);
  return read_run(json);
}

MeasuredBenchmark measure_benchmark(const BenchmarkOptions& options, const std::string& name) {
  const BenchmarkRun run = run_benchmarks(options, filter_for(name));
  const MeasuredBenchmark* const found = find(run, name);
  if (found == nullptr) {
    give_up("it is not there");
  }
  if (!found->error.empty()) {
    give_up("it could not be done: {}", found->error);
  }
  return *found;
}

std::string filter_for(const std::string& name) {
  return '^' + escaped(name, R"(\^$.|?*+()[]{})") + '$';
}

bool knows_variable(const std::filesystem::path& program, const std::string& name) {
  return text_of(program).value_or("").find(name) != std::string::npos;
}

}  // namespace lastref::perf
