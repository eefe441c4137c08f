// profile: where the time of a benchmark, or of any program, goes. Where the kernel does not permit
// more, by samples of /proc. proc(5)
#include <cxxabi.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>

#include <fmt/ranges.h>

#include "bench/perf/profile/perf_events.hpp"
#include "bench/perf/profile/shares.hpp"
#include "bench/perf/verbs.hpp"
#include "harness/platform/names.hpp"
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

/// Counts, the largest first.
template <typename Key>
std::vector<std::pair<Key, std::uint64_t>> by_size(const std::map<Key, std::uint64_t>& counts) {
  std::vector<std::pair<Key, std::uint64_t>> all(counts.begin(), counts.end());
  std::ranges::stable_sort(all, std::greater(), [](const auto& each) { return each.second; });
  return all;
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
  for (const auto& [number, count] : by_size(seen.waiting)) {
    if (count * 100 >= seen.looks) {
      fmt::print("      {:5.1f} %  waits in {}\n",
                 percent(static_cast<double>(count), static_cast<double>(seen.looks)),
                 harness::name_of_call(number));
    }
  }
}

/// Runs a program to its end, samples it and all its descendants a thousand times per second, and
/// prints what each of them did. Returns its status, as wait(2) does.
Result<int> profile_by_looks(const std::vector<std::string>& command) {
  // Orphans, such as daemons, become our children and are sampled as well.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  LASTREF_TRY(started, start_program(command));
  std::map<int, Seen> all;
  std::optional<EndedProgram> how;
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
  return how->status;
}

/// Not a divisor of common periods in programs.
constexpr unsigned ticks_a_second = 4999;
constexpr std::size_t processes_most = 6;
constexpr std::size_t names_most = 5;
/// A process with a smaller part of the time gets no line.
constexpr double least_part = 0.005;

std::string readable(const std::string& function) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(function.c_str(), nullptr, nullptr, &status), &std::free);
  std::string name = status == 0 ? text.get() : function;
  constexpr std::size_t longest = 90;
  if (name.size() > longest) {
    name = name.substr(0, longest) + "...";
  }
  return name;
}

/// Prints the largest counts, as parts of all ticks.
void print_largest(const std::string& what,
                   const std::map<std::string, std::uint64_t>& counts,
                   std::uint64_t ticks) {
  auto all = by_size(counts);
  all.resize(std::min(all.size(), names_most));
  std::erase_if(all, [&](const auto& each) { return each.second * 100 < ticks; });
  for (const auto& [name, count] : all) {
    fmt::print("      {:5.1f} %  {}{}\n",
               percent(static_cast<double>(count), static_cast<double>(ticks)),
               what,
               readable(name));
  }
}

void print(const ProcessShares& who) {
  fmt::print(
      "  {} ({}): {:.2f} s; runs {:.1f} %, waits {:.1f} %, waits for a CPU {:.1f} %; {} "
      "wake-ups\n",
      who.name,
      who.process,
      who.all(),
      percent(who.runs, who.all()),
      percent(who.waits, who.all()),
      percent(who.ready, who.all()),
      who.wake_ups);
  std::string line;
  for (std::size_t kind = 0; kind < kinds_of_spent; ++kind) {
    if (static_cast<Spent>(kind) == Spent::in_kernel && who.spent[kind] == 0) {
      continue;
    }
    line +=
        fmt::format("{}{} {:.1f} %",
                    line.empty() ? "" : ", ",
                    name_of(static_cast<Spent>(kind)),
                    percent(static_cast<double>(who.spent[kind]), static_cast<double>(who.ticks)));
  }
  fmt::print("    of its running: {} ({} ticks)\n", line, who.ticks);
  print_largest("in ", who.calls, who.ticks);
  print_largest("", who.functions, who.ticks);
}

void print(const std::vector<ProcessShares>& all) {
  double sum = 0;
  for (const ProcessShares& each : all) {
    sum += each.runs;
  }
  std::vector<ProcessShares> shown;
  std::ranges::copy_if(all, std::back_inserter(shown), [&](const ProcessShares& each) {
    return each.runs >= least_part * sum && each.ticks > 0;
  });
  std::ranges::stable_sort(shown, std::ranges::greater(), &ProcessShares::runs);
  const std::size_t hidden = all.size() - std::min(shown.size(), processes_most);
  shown.resize(std::min(shown.size(), processes_most));
  for (const ProcessShares& each : shown) {
    print(each);
  }
  if (hidden > 0) {
    fmt::print("  {} more processes, which ran for next to nothing, or are too many\n", hidden);
  }
}

Result<int> profile_by_events(const std::vector<std::string>& command) {
  Account account(kernel_symbols());
  auto how = run_under_perf_events(
      command, ticks_a_second, [&](const PerfRecord& record) { account.take(record); });
  if (!how) {
    return how;
  }
  print(account.shares());
  if (!account.knows_the_kernel()) {
    fmt::print(
        "  What runs in the kernel has no names here (kptr_restrict): calls, copies and "
        "page faults are not distinguished.\n");
  }
  if (account.lost() > 0) {
    fmt::print("  {} records were lost, so times are too short.\n", account.lost());
  }
  return how;
}

Words command_of(const ProfileOptions& options) {
  if (!options.command.empty()) {
    return options.command;
  }
  const std::string program = program_beside_us("lastref_bench");
  const std::string glob = glob_for(options.name);
  const auto names = benchmarks_of({.program = program, .scratch = {}},
                                   {glob, glob + "/real_time", glob + "/manual_time"});
  if (names.empty()) {
    give_up(
        "no benchmark is called {}; those of {} are listed by its option --benchmark_list_tests",
        options.name,
        program);
  }
  return {"env",
          fmt::format("{}=1", without_peers),  // The time of peers is not wanted.
          program,
          "--benchmark_filter=" + filter_for(names.front()),
          fmt::format("--benchmark_min_time={}", options.seconds)};
}

}  // namespace

harness::Exit run_profile(const ProfileOptions& options) {
  if (options.name.empty() == options.command.empty()) {
    give_up("profile takes --bench and a name, or -- and a command");
  }
  const Words command = command_of(options);
  fmt::print("{}:\n", fmt::join(command, " "));
  std::fflush(stdout);
  Result<int> how = options.looks ? profile_by_looks(command) : profile_by_events(command);
  if (!how && !options.looks) {
    refuse(describe(how.error()) +
           "; so it is looked at a thousand times a second instead, which does not tell copies "
           "and page faults apart");
    how = profile_by_looks(command);
  }
  if (!how) {
    give_up("{}", describe(how.error()));
  }
  if (*how != 0) {
    give_up("the program {}",
            WIFEXITED(*how) ? fmt::format("ended with {}", WEXITSTATUS(*how))
                            : fmt::format("was killed by signal {}", WTERMSIG(*how)));
  }
  return harness::Exit::clean;
}

}  // namespace lastref::perf
