#include "bench/perf/profile/looks.hpp"

#include <poll.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "bench/perf/profile/shares.hpp"
#include "bench/perf/profile/start.hpp"
#include "harness/platform/proc.hpp"

namespace lastref::perf {
namespace {

/// The samples of a process.
struct Seen {
  std::string name;
  std::uint64_t looks = 0;  ///< number of samples, over all its threads
  std::uint64_t running = 0;
  std::map<int, std::uint64_t> waiting;  ///< samples by number of the call
  double user = 0;                       ///< s
  double kernel = 0;                     ///< s
  std::uint64_t faults = 0;
};

std::string name_of_call(int number) {
  const std::unique_ptr<char, decltype(&std::free)> name(
      seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number), &std::free);
  return name ? name.get() : fmt::format("call {}", number);
}

void look_at_thread(int process, int thread, Seen& seen) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/syscall", process, thread));
  std::string first;
  if (!(file >> first)) {
    return;
  }
  ++seen.looks;
  if (first == "running") {
    ++seen.running;
  } else {
    ++seen.waiting[std::atoi(first.c_str())];
  }
}

void look_at(int process, Seen& seen) {
  const std::string stat = harness::read_file(fmt::format("/proc/{}/stat", process));
  const auto number = [&stat](int field) {
    return harness::number_in<std::uint64_t>(harness::stat_field_in(stat, field)).value_or(0);
  };
  if (stat.empty() || harness::stat_field_in(stat, 3) == "Z") {
    return;
  }
  const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  seen.name = harness::title_of(process);
  seen.faults = number(10);
  seen.user = static_cast<double>(number(14)) / ticks;
  seen.kernel = static_cast<double>(number(15)) / ticks;
  for (const int thread : harness::threads_of(process)) {
    look_at_thread(process, thread, seen);
  }
}

void print(int process, const Seen& seen) {
  fmt::print(
      "  {} ({}): runs in {:.1f} % of {} looks; {:.2f} s in its code, {:.2f} s in the kernel; "
      "{} page faults\n",
      seen.name,
      process,
      percent(static_cast<double>(seen.running), static_cast<double>(seen.looks)),
      seen.looks,
      seen.user,
      seen.kernel,
      seen.faults);
  std::vector<std::pair<int, std::uint64_t>> all(seen.waiting.begin(), seen.waiting.end());
  std::ranges::stable_sort(all, std::greater(), [](const auto& each) { return each.second; });
  for (const auto& [number, count] : all) {
    if (count * 100 >= seen.looks) {
      fmt::print("      {:5.1f} %  waits in {}\n",
                 percent(static_cast<double>(count), static_cast<double>(seen.looks)),
                 name_of_call(number));
    }
  }
}

}  // namespace

Result<int> profile_by_looks(const std::vector<std::string>& command) {
  // Orphans, such as daemons, become our children and are sampled as well.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  LASTREF_TRY(started, start_program(command));
  std::map<int, Seen> all;
  std::optional<int> how;
  while (!(how = started.end())) {
    for (std::vector<int> left{::getpid()}; !left.empty();) {
      const int parent = left.back();
      left.pop_back();
      for (const int each : harness::children_of(parent)) {
        look_at(each, all[each]);
        left.push_back(each);
      }
    }
    ::poll(nullptr, 0, 1);
  }
  for (const auto& [process, seen] : all) {
    if (seen.looks > 0) {
      print(process, seen);
    }
  }
  return *how;
}

}  // namespace lastref::perf
