// growth: exponents of how times grow with sizes, for our benchmarks or for any others.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/perf/figures.hpp"
#include "bench/perf/measured_process.hpp"
#include "bench/perf/scaling.hpp"
#include "bench/perf/verbs.hpp"

namespace lastref::perf {
namespace {

using harness::Exit;

constexpr std::chrono::hours patience{24};

struct GrowthOptions {
  std::string json = {};
  double limit = 0;  ///< 0: none
  double seconds = 0.05;
};

void print(const Scaling& scaling) {
  fmt::print("{}: exponent {:.2f}, of the last step {:.2f}\n",
             scaling.name,
             scaling.exponent,
             scaling.last);
  for (const SizedTime& each : scaling.times) {
    fmt::print("  {:>10.0f} {:<10} {:>10}   {:>10} each\n",
               each.size,
               scaling.unit,
               time_figure(each.seconds),
               time_figure(each.seconds / each.size));
  }
}

/// Runs our own scaling benchmarks, which print their progress.
tl::expected<BenchmarkRun, std::string> measure(double seconds) {
  const auto program = program_beside_us("lastref_bench");
  if (!program) {
    return tl::unexpected<std::string>(program.error());
  }
  const ScratchFolder scratch;
  const std::string file = scratch.path() / "run.json";
  const auto done = run_measured({.words = {program->string(),
                                            "--benchmark_filter=^scaling/",
                                            fmt::format("--benchmark_min_time={}", seconds),
                                            "--benchmark_out=" + file,
                                            "--benchmark_out_format=json"},
                                  .log = {},
                                  .patience = patience});
  if (!done) {
    return tl::unexpected<std::string>(describe(done.error()));
  }
  return read_run(file).map_error([](const UnreadableRun& why) { return describe(why); });
}

Exit tell(const BenchmarkRun& run, double limit) {
  const auto& [all, left_out] = scalings_of(run);
  std::ranges::for_each(all, [](const Scaling& each) { print(each); });
  for (const LeftOut& each : left_out) {
    fmt::print("LEFT OUT {}: {}\n", each.name, each.why);
  }
  if (all.empty()) {
    std::cerr << "lastref perf: no benchmark has two sizes\n";
    return Exit::unusable;
  }
  Exit exit = left_out.empty() ? Exit::clean : Exit::incomplete;
  for (const Scaling& each : all) {
    if (limit > 0 && each.last > limit) {
      fmt::print("GROWS {}: {:.2f} is above {:.2f}\n", each.name, each.last, limit);
      exit = Exit::violation;
    }
  }
  return exit;
}

Exit growth(const GrowthOptions& options) {
  const auto run =
      options.json.empty()
          ? measure(options.seconds)
          : read_run(options.json).map_error([](const auto& why) { return describe(why); });
  if (!run) {
    std::cerr << "lastref perf: " << run.error() << '\n';
    return Exit::unusable;
  }
  return tell(*run, options.limit);
}

}  // namespace

void add_growth(CLI::App& app, Chosen& chosen) {
  static GrowthOptions options;
  CLI::App* verb = app.add_subcommand("growth",
                                      "How times grow with sizes: exponents. Exit 1 if one is "
                                      "above the limit, else 3 if a size has "
                                      "no time");
  verb->add_option("--json",
                   options.json,
                   "Google Benchmark's report, with names as put/slots:1000. Not given: our own "
                   "benchmarks are run")
      ->type_name("FILE");
  verb->add_option("--limit", options.limit, "The largest exponent between the two largest sizes")
      ->check(CLI::PositiveNumber);
  verb->add_option("--seconds", options.seconds, "How long each size is measured, at least")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->callback([&chosen] { chosen = [] { return growth(options); }; });
}

}  // namespace lastref::perf
