#include "bench/perf/scaling.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "bench/perf/statistics.hpp"

namespace lastref::perf {
namespace {

/// A name in its parts.
struct Sized {
  std::string name;
  std::string unit;
  double size = 0;
};

bool is_about_measuring(std::string_view part) {
  return part == "real_time" || part == "manual_time" || part == "process_time" ||
         part.starts_with("iterations:") || part.starts_with("repeats:") ||
         part.starts_with("threads:") || part.starts_with("min_time:");
}

std::optional<Sized> sized(std::string name) {
  std::size_t slash = name.rfind('/');
  while (slash != std::string::npos &&
         is_about_measuring(std::string_view(name).substr(slash + 1))) {
    name.resize(slash);
    slash = name.rfind('/');
  }
  if (slash == std::string::npos) {
    return std::nullopt;
  }
  const std::string_view argument = std::string_view(name).substr(slash + 1);
  const std::size_t colon = argument.find(':');
  const std::string_view number =
      colon == std::string_view::npos ? argument : argument.substr(colon + 1);
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), size);
  if (error != std::errc() || end != number.data() + number.size() || size == 0) {
    return std::nullopt;
  }
  return Sized{.name = name.substr(0, slash),
               .unit = std::string(argument.substr(0, colon == std::string_view::npos ? 0 : colon)),
               .size = static_cast<double>(size)};
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

std::vector<Scaling> scalings_of(const BenchmarkRun& run) {
  std::vector<Scaling> all;
  for (const MeasuredBenchmark& benchmark : run.benchmarks) {
    const auto it = sized(benchmark.name);
    const std::vector<double>& seconds = seconds_that_count(benchmark);
    if (!it || seconds.empty() || median_of(seconds) <= 0) {
      continue;
    }
    auto known = std::ranges::find_if(
        all, [&](const Scaling& each) { return each.name == it->name && each.unit == it->unit; });
    if (known == all.end()) {
      known = all.insert(all.end(), {.name = it->name, .unit = it->unit, .times = {}});
    }
    known->times.push_back({.size = it->size, .seconds = median_of(seconds)});
  }
  for (Scaling& each : all) {
    std::ranges::stable_sort(each.times, {}, &SizedTime::size);
    const auto is_same = [](const SizedTime& one, const SizedTime& other) {
      return one.size == other.size;
    };
    each.times.erase(std::unique(each.times.begin(), each.times.end(), is_same), each.times.end());
    if (each.times.size() >= 2) {
      each.exponent = exponent_of(each.times);
      each.last = exponent_of({each.times.end() - 2, each.times.end()});
    }
  }
  std::erase_if(all, [](const Scaling& each) { return each.times.size() < 2; });
  return all;
}

}  // namespace lastref::perf
