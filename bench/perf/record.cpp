#include "bench/perf/record.hpp"

#include <sched.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <ctime>
#include <fstream>

namespace lastref::perf {
namespace {

/// What /proc/cpuinfo reports about the first processor.
void add_first_processor(Machine& machine) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::size_t colon = line.find(": ");
    const std::string value = colon == std::string::npos ? "" : line.substr(colon + 2);
    if (line.starts_with("model name")) {
      machine.processor = value;
    } else if (line.starts_with("flags")) {
      machine.is_virtual = fmt::format(" {} ", value).find(" hypervisor ") != std::string::npos;
    }
  }
}

std::string value_of(const BenchmarkRun& run, const char* key) {
  const auto found = run.context.find(key);
  return found == run.context.end() ? std::string() : found->second;
}

/// Seconds since 1970 of "2024-05-01T10:00:00+02:00".
std::optional<std::int64_t> time_in(const std::string& text) {
  std::tm time{};
  const char* const zone = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (zone == nullptr) {
    return std::nullopt;
  }
  ::strptime(zone, "%z", &time);  // Without a zone it is UTC.
  const long east = time.tm_gmtoff;
  const int day = time.tm_mday;
  const std::int64_t seconds = ::timegm(&time) - east;
  return time.tm_mday == day ? std::optional(seconds) : std::nullopt;  // Not February 31.
}

}  // namespace

Machine this_machine(std::optional<double> load) {
  Machine machine;
  add_first_processor(machine);
  cpu_set_t mine;
  if (::sched_getaffinity(0, sizeof mine, &mine) == 0) {
    machine.cores = static_cast<unsigned>(CPU_COUNT(&mine));
  }
  utsname names{};
  if (::uname(&names) == 0) {
    machine.kernel = names.release;
  }
  std::ifstream governor("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  std::getline(governor, machine.governor);
  std::ifstream("/proc/loadavg") >> machine.load;
  machine.load = load.value_or(machine.load);
  return machine;
}

std::string name_of(const Machine& machine) {
  return fmt::format(
      "{}, {} cores{}{}{}, {}",
      machine.processor.empty() ? "unknown processor" : machine.processor,
      machine.cores,
      machine.is_virtual ? " of a virtual machine" : "",
      machine.kernel.empty() ? "" : ", Linux ",
      machine.kernel,
      machine.governor.empty() ? "no governor told" : "governor " + machine.governor);
}

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
