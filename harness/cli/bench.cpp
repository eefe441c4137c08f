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

std::vector<std::string> arguments_of(const BenchOptions& options) {
  std::vector<std::string> arguments = {"--benchmark_counters_tabular=true"};
  if (!options.filter.empty()) {
    arguments.push_back("--benchmark_filter=" + options.filter);
  }
  if (!options.json.empty()) {
    arguments.push_back("--benchmark_out=" + options.json);
    arguments.emplace_back("--benchmark_out_format=json");
  }
  return arguments;
}

}  // namespace

void run(const BenchOptions& options, Invocation& invocation) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string path = self.parent_path() / bench_program;
  if (error || !std::filesystem::exists(path, error)) {
    invocation.refuse(
        fmt::format("bench: {} is not built; it belongs beside this program", bench_program));
    return;
  }
  const auto code = run_program(path, arguments_of(options));
  if (!code) {
    invocation.refuse("bench: " + describe(code.error()));
  } else if (!*code) {
    invocation.refuse("bench: it was killed");
  } else {
    invocation.exit = **code;
  }
}

}  // namespace lastref::harness
