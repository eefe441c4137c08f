#include "bench/perf/machine.hpp"

#include <sched.h>
#include <sys/utsname.h>

#include <fstream>
#include <string_view>

#include <fmt/format.h>

#include "bench/perf/verbs.hpp"

namespace lastref::perf {
namespace {

std::string first_line_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// What /proc/cpuinfo reports about the first processor.
struct Processor {
  std::string model;
  bool is_virtual = false;
};

Processor first_processor() {
  std::ifstream file("/proc/cpuinfo");
  Processor first;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::string_view all = line;
    const std::size_t colon = all.find(": ");
    if (colon == std::string_view::npos) {
      continue;
    }
    const std::string_view value = all.substr(colon + 2);
    if (all.starts_with("model name")) {
      first.model = value;
    } else if (all.starts_with("flags")) {
      first.is_virtual = fmt::format(" {} ", value).find(" hypervisor ") != std::string::npos;
    }
  }
  return first;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  Processor processor = first_processor();
  machine.processor = std::move(processor.model);
  machine.is_virtual = processor.is_virtual;
  cpu_set_t mine;
  if (::sched_getaffinity(0, sizeof mine, &mine) == 0) {
    machine.cores = static_cast<unsigned>(CPU_COUNT(&mine));
  }
  utsname names{};
  if (::uname(&names) == 0) {
    machine.kernel = names.release;
  }
  machine.governor = first_line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  std::ifstream("/proc/loadavg") >> machine.load;
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

void add_machine(CLI::App& app, Chosen& chosen) {
  app.add_subcommand("machine", "What times are measured on here")->callback([&chosen] {
    chosen = [] {
      const Machine machine = this_machine();
      fmt::print("{}, load {}\n", name_of(machine), machine.load);
      return harness::Exit::clean;
    };
  });
}

}  // namespace lastref::perf
