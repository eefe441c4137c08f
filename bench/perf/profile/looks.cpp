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
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "bench/perf/profile/shares.hpp"
#include "bench/perf/profile/start.hpp"
#include "harness/kernel/patience.hpp"
#include "harness/warden/peek.hpp"

namespace lastref::perf {
namespace {

namespace warden = harness::warden;

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

/// The fields of /proc/pid/stat, beginning with the state.
std::vector<std::string> fields_of(int process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  const std::size_t behind = line.rfind(") ");
  std::istringstream words(behind == std::string::npos ? "" : line.substr(behind + 2));
  return {std::istream_iterator<std::string>(words), {}};
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
  const std::vector<std::string> fields = fields_of(process);
  // proc(5): minflt, utime and stime are 7, 11 and 12 fields after the state.
  constexpr std::size_t faults_at = 7;
  constexpr std::size_t user_at = 11;
  if (fields.size() <= user_at + 1 || fields.front() == "Z") {
    return;
  }
  const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  seen.name = warden::title_of(process);
  seen.faults = std::strtoull(fields[faults_at].c_str(), nullptr, 10);
  seen.user = std::strtod(fields[user_at].c_str(), nullptr) / ticks;
  seen.kernel = std::strtod(fields[user_at + 1].c_str(), nullptr) / ticks;
  for (const int thread : warden::threads_of(process)) {
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
