// bench: runs the benchmarks, a program of their own beside this one.
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "harness/cli/verbs.hpp"
#include "harness/program/program.hpp"

namespace lastref::harness {
namespace {

constexpr const char* bench_program = "lastref_bench";

std::vector<std::string> words_of(const BenchOptions& options) {
  std::vector<std::string> words = {"--benchmark_counters_tabular=true"};
  if (!options.filter.empty()) {
    words.push_back("--benchmark_filter=" + options.filter);
  }
  if (!options.json.empty()) {
    words.push_back("--benchmark_out=" + options.json);
    words.emplace_back("--benchmark_out_format=json");
  }
  return words;
}

}  // namespace

void run(const BenchOptions& options, Session& session) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string path = self.parent_path() / bench_program;
  if (error || !std::filesystem::exists(path, error)) {
    session.refuse(
        fmt::format("bench: {} is not built; it belongs beside this program", bench_program));
    return;
  }
  const auto code = run_program(path, words_of(options));
  if (!code) {
    session.refuse("bench: " + describe(code.error()));
  } else if (!*code) {
    session.refuse("bench: it was killed");
  } else {
    session.exit = **code;
  }
}

}  // namespace lastref::harness
