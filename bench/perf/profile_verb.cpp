// profile: where the time of a benchmark, or of any program, goes.
#include <cxxabi.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/perf/benchmark_program.hpp"
#include "bench/perf/measured_process.hpp"
#include "bench/perf/profile/looks.hpp"
#include "bench/perf/profile/perf_events.hpp"
#include "bench/perf/profile/shares.hpp"
#include "bench/perf/verbs.hpp"

namespace lastref::perf {
namespace {

using harness::Exit;

/// Not a divisor of common periods in programs.
constexpr unsigned ticks_a_second = 4999;
constexpr std::size_t processes_most = 6;
constexpr std::size_t names_most = 5;
/// A process with a smaller part of the time gets no line.
constexpr double least_part = 0.005;

struct ProfileOptions {
  std::string name = {};
  double seconds = 2;
  bool looks = false;
  std::vector<std::string> command = {};
};

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
  std::vector<std::pair<std::string, std::uint64_t>> all(counts.begin(), counts.end());
  std::ranges::stable_sort(all, std::greater(), [](const auto& each) { return each.second; });
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
      "  {} ({}): {:.2f} s; runs {:.1f} %, waits {:.1f} %, stands in line {:.1f} %; {} "
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

Exit profile_by_events(const std::vector<std::string>& command, Result<int>& how) {
  Account account(kernel_symbols());
  how = run_under_perf_events(
      command, ticks_a_second, [&](const PerfRecord& record) { account.take(record); });
  if (!how) {
    return Exit::unusable;
  }
  print(account.shares());
  if (!account.knows_the_kernel()) {
    fmt::print(
        "  What runs in the kernel has no names here (kptr_restrict): calls, copies and "
        "page faults are not told apart.\n");
  }
  if (account.lost() > 0) {
    fmt::print("  {} records were lost, so times are too short.\n", account.lost());
  }
  return Exit::clean;
}

tl::expected<std::vector<std::string>, std::string> command_of(const ProfileOptions& options) {
  if (!options.command.empty()) {
    return options.command;
  }
  const auto program = program_beside_us("lastref_bench");
  if (!program) {
    return tl::unexpected<std::string>(program.error());
  }
  const auto names = benchmarks_of({.program = *program, .scratch = {}},
                                   {glob_for(options.name),
                                    glob_for(options.name) + "/real_time",
                                    glob_for(options.name) + "/manual_time"});
  if (!names || names->empty()) {
    return tl::unexpected<std::string>(
        names ? fmt::format("no benchmark is called {}; those of {} are listed by its option "
                            "--benchmark_list_tests",
                            options.name,
                            program->string())
              : names.error());
  }
  return std::vector<std::string>{
      "env",
      fmt::format("{}=1", without_peers),  // The time of peers is not wanted.
      *program,
      "--benchmark_filter=" + filter_for(names->front()),
      fmt::format("--benchmark_min_time={}", options.seconds)};
}

Exit profile(const ProfileOptions& options) {
  if (options.name.empty() == options.command.empty()) {
    std::cerr << "lastref perf: profile takes --bench and a name, or -- and a command\n";
    return Exit::unusable;
  }
  const auto found = command_of(options);
  if (!found) {
    std::cerr << "lastref perf: " << found.error() << '\n';
    return Exit::unusable;
  }
  const std::vector<std::string>& command = *found;
  fmt::print("{}:\n", fmt::join(command, " "));
  std::fflush(stdout);
  Result<int> how = 0;
  Exit exit = options.looks ? Exit::unusable : profile_by_events(command, how);
  if (exit == Exit::unusable) {
    if (!options.looks) {
      std::cerr << "lastref perf: " << describe(how.error())
                << "; so it is looked at a thousand times a second instead, which does not tell "
                   "copies and page faults apart\n";
    }
    how = profile_by_looks(command);
    exit = Exit::clean;
  }
  if (!how) {
    std::cerr << "lastref perf: " << describe(how.error()) << '\n';
    return Exit::unusable;
  }
  if (*how != 0) {
    std::cerr << "lastref perf: the program "
              << (WIFEXITED(*how) ? fmt::format("ended with {}", WEXITSTATUS(*how))
                                  : fmt::format("was killed by signal {}", WTERMSIG(*how)))
              << '\n';
    return Exit::unusable;
  }
  return exit;
}

}  // namespace

void add_profile(CLI::App& app, Chosen& chosen, const Words& command) {
  static ProfileOptions options;
  CLI::App* verb =
      app.add_subcommand("profile", "Where the time of a benchmark, or of any program, goes");
  options.command = command;
  verb->footer("-- COMMAND: any program, with its words");
  verb->add_option("--bench", options.name, "A benchmark, as bench names it")->type_name("NAME");
  verb->add_option("--seconds", options.seconds, "How long the benchmark runs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->add_flag(
      "--looks",
      options.looks,
      "Look at it a thousand times a second, as is done where the kernel does not permit "
      "more");
  verb->callback([&chosen] { chosen = [] { return profile(options); }; });
}

}  // namespace lastref::perf
