#include "bench/perf/scaling.hpp"

#include <algorithm>
#include <cmath>

#include <boost/math/statistics/bivariate_statistics.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>

#include "bench/perf/figures.hpp"
#include "bench/perf/files.hpp"
#include "bench/perf/statistics.hpp"
#include "bench/perf/verbs.hpp"

namespace lastref::perf {
namespace {

/// The parts of a name.
struct Sized {
  std::string name;
  std::string unit;
  double size = 0;
};

bool is_about_measuring(std::string_view part) {
  return part == "real_time" || part == "manual_time" || part == "process_time" ||
         part.starts_with("iterations:") || part.starts_with("repeats:") ||
         part.starts_with("threads:") || part.starts_with("min_time:") ||
         part.starts_with("min_warmup_time:");
}

std::optional<Sized> sized(std::string_view name) {
  std::string_view before = name;
  std::size_t slash = before.rfind('/');
  while (slash != std::string_view::npos && is_about_measuring(before.substr(slash + 1))) {
    before = before.substr(0, slash);
    slash = before.rfind('/');
  }
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view argument = before.substr(slash + 1);
  const std::string_view behind = name.substr(before.size());
  const std::size_t colon = argument.find(':');
  const std::string_view number =
      colon == std::string_view::npos ? argument : argument.substr(colon + 1);
  const auto size = number_in<std::uint64_t>(number);
  if (!size || *size == 0) {
    return std::nullopt;
  }
  return Sized{.name = std::string(before.substr(0, slash)).append(behind),
               .unit = std::string(argument.substr(0, colon == std::string_view::npos ? 0 : colon)),
               .size = static_cast<double>(*size)};
}

using harness::Exit;

constexpr std::chrono::hours patience{24};

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
BenchmarkRun measure(double seconds) {
  const ScratchFolder scratch;
  return run_benchmarks({.program = program_beside_us("lastref_bench"),
                         .seconds_at_least = seconds,
                         .scratch = scratch.path(),
                         .patience = patience,
                         .is_shown = true},
                        "^scaling/");
}

}  // namespace

Exit run_growth(const GrowthOptions& options) {
  const Scalings scalings =
      scalings_of(options.json.empty() ? measure(options.seconds) : read_run(options.json));
  std::ranges::for_each(scalings.all, print);
  for (const LeftOut& each : scalings.left_out) {
    fmt::print("LEFT OUT {}: {}\n", each.name, each.why);
  }
  if (scalings.all.empty()) {
    give_up("no benchmark has two sizes");
  }
  Exit exit = scalings.left_out.empty() ? Exit::clean : Exit::incomplete;
  for (const Scaling& each : scalings.all) {
    if (options.limit > 0 && each.last > options.limit) {
      fmt::print("GROWS {}: {:.2f} is above {:.2f}\n", each.name, each.last, options.limit);
      exit = Exit::violation;
    }
  }
  return exit;
}

double exponent_of(const std::vector<SizedTime>& times) {
  std::vector<double> x;
  std::vector<double> y;
  for (const SizedTime& each : times) {
    x.push_back(std::log(each.size));
    y.push_back(std::log(each.seconds));
  }
  return boost::math::statistics::covariance(x, y) / boost::math::statistics::variance(x);
}

Scalings scalings_of(const BenchmarkRun& run) {
  Scalings scalings;
  std::vector<Scaling>& all = scalings.all;
  for (const MeasuredBenchmark& benchmark : run.benchmarks) {
    const auto it = sized(benchmark.name);
    if (!it) {
      continue;
    }
    auto known = std::ranges::find_if(
        all, [&](const Scaling& each) { return each.name == it->name && each.unit == it->unit; });
    const double seconds = median_of(seconds_that_count(benchmark));
    const bool is_there =
        known != all.end() &&
        std::ranges::find(known->times, it->size, &SizedTime::size) != known->times.end();
    const std::string why = !benchmark.error.empty() ? benchmark.error
                            : !(seconds > 0)         ? "it took no time"
                            : is_there               ? "its size is there under another name"
                                                     : "";
    if (!why.empty()) {
      scalings.left_out.push_back({.name = benchmark.name, .why = why});
      continue;
    }
    if (known == all.end()) {
      known = all.insert(all.end(), {.name = it->name, .unit = it->unit, .times = {}});
    }
    known->times.push_back({.size = it->size, .seconds = seconds});
  }
  std::erase_if(all, [](const Scaling& each) { return each.times.size() < 2; });
  for (Scaling& each : all) {
    std::ranges::sort(each.times, {}, &SizedTime::size);
    each.exponent = exponent_of(each.times);
    each.last = exponent_of({each.times.end() - 2, each.times.end()});
  }
  return scalings;
}

}  // namespace lastref::perf
