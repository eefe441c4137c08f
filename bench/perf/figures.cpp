#include "bench/perf/figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include <fmt/chrono.h>

namespace lastref::perf {
namespace {

/// At 2 or more, or 0.5 or less, percentages mislead: "+900 %" is ten times as long.
bool is_large(double ratio) {
  return !std::isfinite(ratio) || ratio >= 2 || ratio <= 0.5;
}

std::string times_or_percent(double ratio, bool as_times) {
  if (as_times) {
    return fmt::format("×{:.2f}", ratio);
  }
  // A minus sign, because a hyphen looks different.
  const double percent = (ratio - 1) * 100;
  return fmt::format("{}{:.1f} %", percent < 0 ? "−" : "+", std::abs(percent));
}

}  // namespace

TimeUnit unit_for(double seconds) {
  constexpr std::array units = {TimeUnit{1, "s"}, TimeUnit{1e-3, "ms"}, TimeUnit{1e-6, "µs"}};
  for (const TimeUnit& unit : units) {
    // A time that would be rounded to 1000 of the next smaller unit has this unit.
    if (std::abs(seconds) >= 0.99995 * unit.seconds) {
      return unit;
    }
  }
  return {1e-9, "ns"};
}

std::string figure(double value) {
  struct Letter {
    double least;
    const char* name;
  };
  constexpr std::array letters = {
      Letter{1e12, " T"}, Letter{1e9, " G"}, Letter{1e6, " M"}, Letter{1e4, " k"}};
  for (const auto& [least, name] : letters) {
    if (std::abs(value) >= 0.99995 * least) {
      return fmt::format("{:#.4g}{}", value / (least == 1e4 ? 1e3 : least), name);
    }
  }
  if (value == 0 || std::abs(value) >= 999.95) {
    return fmt::format("{:.0f}", value);
  }
  return fmt::format("{:#.4g}", value);
}

std::string time_figure(double seconds) {
  const TimeUnit unit = unit_for(seconds);
  return fmt::format("{} {}", figure(seconds / unit.seconds), unit.name);
}

std::string time_figure(double seconds, const Within<double>& within) {
  const TimeUnit unit = unit_for(seconds);
  return fmt::format("{} {} [{}, {}]",
                     figure(seconds / unit.seconds),
                     unit.name,
                     figure(within.least / unit.seconds),
                     figure(within.most / unit.seconds));
}

std::string change_figure(double ratio) {
  return times_or_percent(ratio, is_large(ratio));
}

std::string change_figure(double ratio, const Within<double>& within) {
  const bool as_times = is_large(ratio);
  return fmt::format("{} [{}, {}]",
                     times_or_percent(ratio, as_times),
                     times_or_percent(within.least, as_times),
                     times_or_percent(within.most, as_times));
}

std::string day_of(std::int64_t seconds) {
  return moment_of(seconds).substr(0, 10);
}

std::string moment_of(std::int64_t seconds) {
  // Limit the year to four digits, whatever was recorded.
  const std::time_t time = std::clamp<std::int64_t>(seconds, 0, 253402300799);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time));
}

std::string short_commit(const std::string& name) {
  const std::size_t hash = std::min(name.find_first_not_of("0123456789abcdef"), name.size());
  if (hash < 40) {
    return name;  // a name given by the user
  }
  return name.substr(0, 10) + name.substr(hash);
}

}  // namespace lastref::perf
