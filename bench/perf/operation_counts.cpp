#include "bench/perf/operation_counts.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/counted/mark.hpp"
#include "bench/perf/call_counter.hpp"
#include "bench/shm_folder.hpp"
#include "impl/os/kernel_os_spawn.hpp"

namespace lastref::perf {
namespace {

namespace fs = std::filesystem;

/// Whether this is a system call depends on the machine's clock. vdso(7)
constexpr const char* call_of_the_clock = "clock_gettime";
/// Where the heap ends depends on all earlier allocations.
constexpr const char* call_of_the_heap = "brk";

/// The paths below always have the same length, because their bytes are counted.
std::vector<CountsByRole> rounds_of(const bench::Operation& operation, const Performer& by) {
  const bench::ShmFolder ground;
  const auto make_folder = [&](const char* name) {
    std::string path = ground.path() + name;
    fs::create_directory(path);
    fs::permissions(path, fs::perms::owner_all);
    return path;
  };
  // One heap for all threads: the kernel chooses the address of another one, and so how many calls
  // its alignment needs.
  std::vector<std::string> environment = {"GLIBC_TUNABLES=glibc.malloc.arena_max=1",
                                          "LASTREF_RUNTIME_FOLDER=" + make_folder("/run"),
                                          "LASTREF_TEMP_FOLDER=" + make_folder("/temporary")};
  if (!by.plant.empty()) {
    environment.push_back("LASTREF_COUNTED_PLANT=" + by.plant);
  }
  return count_calls({.command = {by.program, std::string(operation.name), make_folder("/files")},
                      .environment = std::move(environment),
                      .tells_ends = operation.tells_ends});
}

Figures exact_figures(const Counts& counts, bool counts_pages) {
  Figures figures = figures_of(counts);
  figures.erase(call_of_the_clock);
  figures.erase(call_of_the_heap);
  if (!counts_pages) {
    figures.erase(std::string(pages_column));
  }
  return figures;
}

}  // namespace

OperationCounts counts_of(const bench::Operation& operation, const Performer& performer) {
  const std::string name(operation.name);
  std::vector<CountsByRole> rounds = rounds_of(operation, performer);
  if (rounds.size() != bench::rounds) {
    throw std::runtime_error(fmt::format("{} was done {} times", name, rounds.size()));
  }
  rounds.erase(rounds.begin(), rounds.begin() + bench::warm_ups);

  std::map<std::string, std::vector<Figures>> by_process;
  std::map<std::string, std::set<std::string>> counters;
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    for (const auto& [process, counts] : rounds[round]) {
      auto& all = by_process[process];
      all.resize(rounds.size());
      all[round] = exact_figures(counts, operation.faults_vary.empty());
      for (const auto& [counter, ignored] : all[round]) {
        counters[process].insert(counter);
      }
    }
  }

  OperationCounts counts;
  for (const auto& [process, all] : by_process) {
    for (const std::string& counter : counters[process]) {
      std::vector<std::uint64_t> seen;
      std::ranges::transform(all, std::back_inserter(seen), [&](const Figures& figures) {
        const auto found = figures.find(counter);
        return found == figures.end() ? 0 : found->second;
      });
      if (std::ranges::count(seen, seen.front()) != std::ssize(seen)) {
        counts.vague.push_back(
            fmt::format("{}, {}: {}: {}", name, process, counter, fmt::join(seen, " ")));
      }
    }
    counts.rows.push_back({.operation = name, .process = process, .figures = all.front()});
  }
  return counts;
}

bool can_be_counted_here(const bench::Operation& operation) {
  return !operation.tells_ends || os::tells_how_nobodys_end();
}

}  // namespace lastref::perf
