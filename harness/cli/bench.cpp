// bench: runs the benchmarks, a program of their own beside this one.
#include <array>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>

#include "harness/cli/verbs.hpp"

namespace lastref::harness {
namespace {

constexpr const char* bench_program = "lastref_bench";

struct BenchOptions {
  std::string json;
  std::string filter;
};

/// Waits for the child's end; its exit code, or nothing when it was killed.
Result<std::optional<int>> wait_for(os::Os& os, const os::Child& child) {
  const os::UniqueFd process(os, child.process);
  for (;;) {
    std::array items = {os::PollItem{.fd = process.get(), .want_read = true}};
    LASTREF_TRY(ready, os::retry_interrupted([&] { return os.poll(items, std::nullopt); }));
    static_cast<void>(ready);
    LASTREF_TRY(ended, os.wait_child(process.get()));
    if (ended) {
      return ended->killed ? std::nullopt : std::optional(ended->code);
    }
  }
}

Result<std::optional<int>> run_program(const BenchOptions& options, const std::string& path) {
  os::KernelOs os({.program = path});
  os::SpawnOptions spawn;
  spawn.entry = "--benchmark_counters_tabular=true";
  if (!options.filter.empty()) {
    spawn.arguments.push_back("--benchmark_filter=" + options.filter);
  }
  if (!options.json.empty()) {
    spawn.arguments.push_back("--benchmark_out=" + options.json);
    spawn.arguments.emplace_back("--benchmark_out_format=json");
  }
  LASTREF_TRY(child, os.spawn(spawn));
  return wait_for(os, child);
}

void run(const BenchOptions& options, Session& session) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string path = self.parent_path() / bench_program;
  if (error || !std::filesystem::exists(path, error)) {
    session.refuse(
        fmt::format("bench: {} is not built; it belongs beside this program", bench_program));
    return;
  }
  const auto code = run_program(options, path);
  if (!code) {
    session.refuse("bench: " + describe(code.error()));
  } else if (!*code) {
    session.refuse("bench: it was killed");
  } else {
    session.exit = **code;
  }
}

}  // namespace

void add_bench(CLI::App& app, Session& session) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* verb = app.add_subcommand("bench", "Measures the product beside the machine's limits");
  verb->add_option("--json", options->json, "Google Benchmark's report for machines")
      ->type_name("FILE");
  verb->add_option("--filter", options->filter, "Only benchmarks that match")->type_name("REGEX");
  verb->callback([options, &session] { run(*options, session); });
}

}  // namespace lastref::harness
