// bench: runs the benchmarks, a separate program in the same folder.
#include <string>
#include <vector>

#include "harness/cli/sibling.hpp"
#include "harness/cli/verbs.hpp"

namespace lastref::harness {
namespace {

std::vector<std::string> arguments_of(const BenchOptions& options) {
  std::vector<std::string> arguments = {"--benchmark_counters_tabular=true"};
  if (options.quick) {
    // The smaller sizes use the same code.
    arguments.emplace_back(
        "--benchmark_filter=-/1000000000/|/100000000/|bytes:(4096|1048576)/|dead_process/200000|"
        "scaling/|on_one_processor/(one|a_|start)|tiny_tasks_[a-z]+/10000/");
    arguments.emplace_back("--benchmark_min_time=0.003");
  }
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
  if (!options.profile.empty()) {
    run_sibling("bench", "lastref_perf", {"profile", "--bench", options.profile}, invocation);
    return;
  }
  run_sibling("bench", "lastref_bench", arguments_of(options), invocation);
}

}  // namespace lastref::harness
