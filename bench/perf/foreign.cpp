#include "bench/perf/foreign.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace lastref::perf {
namespace {

std::string value_of(const BenchmarkRun& run, const char* key) {
  const auto found = run.context.find(key);
  return found == run.context.end() ? std::string() : found->second;
}

/// Seconds since 1970 of "2024-05-01T10:00:00+02:00".
std::optional<std::int64_t> time_in(const std::string& text) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int hours_east = 0;
  int minutes_east = 0;
  // NOLINTNEXTLINE(cert-err34-c): a number that is too large is refused below
  const int read = std::sscanf(text.c_str(),
                               "%4d-%2u-%2uT%2d:%2d:%2d%3d:%2d",
                               &year,
                               &month,
                               &day,
                               &hour,
                               &minute,
                               &second,
                               &hours_east,
                               &minutes_east);
  const std::chrono::year_month_day date{
      std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (read < 6 || !date.ok()) {
    return std::nullopt;
  }
  const bool is_west = text.rfind('-') > text.find('T') && text.rfind('-') != std::string::npos;
  const int minutes =
      hour * 60 + minute - hours_east * 60 - (is_west ? -minutes_east : minutes_east);
  const std::chrono::sys_seconds time =
      std::chrono::sys_days(date) + std::chrono::minutes(minutes) + std::chrono::seconds(second);
  return time.time_since_epoch().count();
}

}  // namespace

Record record_of_foreign(const BenchmarkRun& run, std::int64_t now) {
  Record record;
  const std::string date = value_of(run, "date");
  record.recorded = time_in(date).value_or(now);
  record.commit = {.name = date.empty() ? "unknown" : date, .time = record.recorded};
  const std::string host = value_of(run, "host_name");
  record.machine.processor = fmt::format("host {}", host.empty() ? "unknown" : host);
  record.machine.cores = static_cast<unsigned>(std::atoi(value_of(run, "num_cpus").c_str()));
  const std::string load = value_of(run, "load_avg");  // "[0.5,0.4,0.3]", or "[]"
  record.machine.load = load.size() > 2 ? std::strtod(load.c_str() + 1, nullptr) : 0;
  record.program = std::filesystem::path(value_of(run, "executable")).filename();
  record.benchmarks = run.benchmarks;
  return record;
}

}  // namespace lastref::perf
