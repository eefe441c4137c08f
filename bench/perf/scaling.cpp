#include "bench/perf/scaling.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "bench/perf/statistics.hpp"

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
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), size);
  if (error != std::errc() || end != number.data() + number.size() || size == 0) {
    return std::nullopt;
  }
  return Sized{.name = std::string(before.substr(0, slash)).append(behind),
               .unit = std::string(argument.substr(0, colon == std::string_view::npos ? 0 : colon)),
               .size = static_cast<double>(size)};
}

/// Why the benchmark has no valid time; or empty.
std::string what_is_wrong_with(const MeasuredBenchmark& benchmark) {
  if (!benchmark.error.empty()) {
    return benchmark.error;
  }
  return median_of(seconds_that_count(benchmark)) > 0 ? "" : "it took no time";
}

}  // namespace

double exponent_of(const std::vector<SizedTime>& times) {
  double x_mean = 0;
  double y_mean = 0;
  for (const SizedTime& each : times) {
    x_mean += std::log(each.size) / static_cast<double>(times.size());
    y_mean += std::log(each.seconds) / static_cast<double>(times.size());
  }
  double together = 0;
  double alone = 0;
  for (const SizedTime& each : times) {
    const double x = std::log(each.size) - x_mean;
    together += x * (std::log(each.seconds) - y_mean);
    alone += x * x;
  }
  return together / alone;
}

Scalings scalings_of(const BenchmarkRun& run) {
  Scalings scalings;
  std::vector<Scaling>& all = scalings.all;
  for (const MeasuredBenchmark& benchmark : run.benchmarks) {
    const auto it = sized(benchmark.name);
    if (!it) {
      continue;
    }
    const auto leave_out = [&](std::string why) {
      scalings.left_out.push_back({.name = benchmark.name, .why = std::move(why)});
    };
    if (std::string why = what_is_wrong_with(benchmark); !why.empty()) {
      leave_out(std::move(why));
      continue;
    }
    auto known = std::ranges::find_if(
        all, [&](const Scaling& each) { return each.name == it->name && each.unit == it->unit; });
    if (known == all.end()) {
      known = all.insert(all.end(), {.name = it->name, .unit = it->unit, .times = {}});
    }
    if (std::ranges::find(known->times, it->size, &SizedTime::size) != known->times.end()) {
      leave_out("its size is there under another name");
      continue;
    }
    known->times.push_back({.size = it->size, .seconds = median_of(seconds_that_count(benchmark))});
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
