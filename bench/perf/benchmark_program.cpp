#include "bench/perf/benchmark_program.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

namespace lastref::perf {

tl::expected<std::vector<std::string>, std::string> benchmarks_of(const BenchmarkOptions& options,
                                                                  const Globs& globs) {
  const auto said = output_of(
      {.words = {options.program.string(), "--benchmark_list_tests=true", "--benchmark_filter=all"},
       .environment = options.environment});
  if (!said) {
    return tl::unexpected<std::string>(describe(said.error()));
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

tl::expected<MeasuredBenchmark, std::string> measure_benchmark(const BenchmarkOptions& options,
                                                               const std::string& name) {
  const std::filesystem::path json = options.scratch / "run.json";
  std::error_code error;
  std::filesystem::remove(json, error);
  const auto times =
      run_measured({.words = {options.program.string(),
                              "--benchmark_filter=" + filter_for(name),
                              fmt::format("--benchmark_min_time={}", options.seconds_at_least),
                              "--benchmark_out=" + json.string(),
                              "--benchmark_out_format=json"},
                    .environment = options.environment,
                    .log = options.scratch / "run.log",
                    .patience = options.patience});
  if (!times) {
    return tl::unexpected<std::string>(describe(times.error()));
  }
  auto run = read_run(json);
  if (!run) {
    return tl::unexpected<std::string>(describe(run.error()));
  }
  const auto found = std::ranges::find(run->benchmarks, name, &MeasuredBenchmark::name);
  if (found == run->benchmarks.end()) {
    return tl::unexpected<std::string>("it is not there");
  }
  if (!found->error.empty()) {
    return tl::unexpected<std::string>("it could not be done: " + found->error);
  }
  return std::move(*found);
}

std::string filter_for(const std::string& name) {
  std::string filter = "^";
  for (const char letter : name) {
    if (std::string_view(R"(\^$.|?*+()[]{})").find(letter) != std::string_view::npos) {
      filter += '\\';
    }
    filter += letter;
  }
  return filter + '$';
}

bool knows_variable(const std::filesystem::path& program, const std::string& name) {
  std::ifstream file(program, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.find(name) != std::string::npos;
}

}  // namespace lastref::perf
