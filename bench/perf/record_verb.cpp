// record: measures, or reads measurements of other programs, and stores them.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include <fmt/ranges.h>

#include "bench/perf/builds.hpp"
#include "bench/perf/figures.hpp"
#include "bench/perf/git.hpp"
#include "bench/perf/store.hpp"
#include "bench/perf/verbs.hpp"

namespace lastref::perf {
namespace {

namespace fs = std::filesystem;
using harness::Exit;
using Names = std::vector<std::string>;

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// A filter for Google Benchmark, which only supports regular expressions, for those that match.
std::string filter_of(const fs::path& program, const Globs& globs) {
  Names filters = benchmarks_of({.program = program, .scratch = {}}, globs);
  if (filters.empty()) {
    give_up("{}", no_benchmark_matches(globs));
  }
  std::ranges::transform(filters, filters.begin(), filter_for);
  return fmt::format("{}", fmt::join(filters, "|"));
}

/// Measures in rounds. Each round is a process of its own, because a process depends on chance:
/// where its memory lies, and which other processes run.
std::vector<MeasuredBenchmark> measure(const RecordOptions& options, const fs::path& program) {
  const std::string filter = filter_of(program, options.benches);
  std::vector<MeasuredBenchmark> all;
  for (int round = 1; round <= options.repetitions; ++round) {
    say(fmt::format("  round {} of {}", round, options.repetitions));
    const ScratchFolder scratch;
    const BenchmarkRun run = run_benchmarks(
        {.program = program,
         .seconds_at_least = options.seconds,
         .scratch = scratch.path(),
         .patience = std::chrono::hours(4),
         .words = {"--benchmark_repetitions=1", "--benchmark_enable_random_interleaving=true"}},
        filter);
    for (const MeasuredBenchmark& each : run.benchmarks) {
      const auto known = std::ranges::find(all, each.name, &MeasuredBenchmark::name);
      append(known == all.end() ? all.emplace_back(MeasuredBenchmark{.name = each.name}) : *known,
             each);
    }
  }
  return all;
}

void add(Store& store, const Record& record, const std::string& what) {
  const bool is_new = store.add(record);
  for (const MeasuredBenchmark& benchmark : record.benchmarks) {
    if (!benchmark.error.empty()) {
      say(fmt::format("  {} could not be done: {}", benchmark.name, benchmark.error));
    }
  }
  std::cout << fmt::format("{} {}: {} benchmarks\n",
                           is_new ? "recorded" : "has been recorded before:",
                           what,
                           record.benchmarks.size());
}

void import_files(const RecordOptions& options, Store& store) {
  for (const std::string& path : options.files) {
    Record record = record_of_foreign(read_run(path), now());
    if (!options.commit.empty()) {
      const auto known = commit_in(".", options.commit);
      record.commit = known.value_or(Commit{.name = options.commit, .time = record.commit.time});
    }
    if (options.is_here) {
      record.machine = this_machine(record.machine.load);
    }
    add(store, record, path + " of " + record.commit.name);
  }
}

std::string short_name(const Commit& commit) {
  return fmt::format("{} {}", short_commit(commit.name), commit.subject);
}

Record record_of(const RecordOptions& options, const Commit& commit, const fs::path& program) {
  const Machine machine = this_machine();  // The load before the measurement adds to it.
  const Built built = built_in(program.parent_path().parent_path());
  return {.commit = commit,
          .machine = machine,
          .compiler = built.compiler,
          .flags = built.flags,
          .program = program.filename(),
          .recorded = now(),
          .benchmarks = measure(options, program)};
}

/// Records the program in the folder of this one, for the commit that is checked out.
void record_here(const RecordOptions& options, Store& store) {
  const fs::path program = program_beside_us("lastref_bench");
  const auto checkout = own_checkout();
  const auto commit = checkout ? checked_out(*checkout, now()) : std::nullopt;
  if (!commit) {
    give_up("git does not know which commit this program was built of");
  }
  // Otherwise the measured program is not the checked-out one, and the wrong commit is blamed.
  if (!is_up_to_date(program.parent_path().parent_path())) {
    give_up("lastref_bench is older than the sources; ./lastref perf record builds it first");
  }
  say("recording " + short_name(*commit));
  add(store, record_of(options, *commit, program), short_name(*commit));
}

/// The names of benchmarks by commit, compiler and flags.
using Known = std::map<std::tuple<std::string, std::string, std::string>, std::set<std::string>>;

Known recorded_here(const std::vector<Record>& records) {
  Known known;
  const std::string here = name_of(this_machine());
  for (const Record& record : records) {
    if (name_of(record.machine) == here && record.program == "lastref_bench") {
      std::set<std::string>& names = known[{record.commit.name, record.compiler, record.flags}];
      for (const MeasuredBenchmark& benchmark : record.benchmarks) {
        names.insert(benchmark.name);
      }
    }
  }
  return known;
}

class RecordingCommits {
 public:
  RecordingCommits(const RecordOptions& options, Store& store, const fs::path& checkout)
      : options_(options),
        store_(store),
        checkout_(checkout),
        noted_(checkout / "build/perf/benchmarks"),
        revisions_(checkout),
        // Read after the wait: the process that waited for us may have recorded some of them.
        known_(recorded_here(store.records())) {}

  /// Stops if the store fails, because later measurements could not be stored.
  Exit run(const Names& wanted) {
    std::size_t number = 0;
    std::size_t missing = 0;
    for (const std::string& hash : wanted) {
      const Commit commit = commit_in(checkout_, hash).value_or(Commit{.name = hash});
      say(fmt::format("{} of {}: {}", ++number, wanted.size(), short_name(commit)));
      std::optional<Record> record;
      try {
        record = measured(commit);
      } catch (const std::runtime_error& error) {
        say(fmt::format("  skipped: {}", error.what()));
        ++missing;
      }
      if (record) {
        add(store_, *record, short_name(commit));
      }
    }
    if (missing > 0) {
      refuse(fmt::format("{} of {} commits are not recorded", missing, wanted.size()));
    }
    return missing > 0 ? Exit::incomplete : Exit::clean;
  }

 private:
  /// Nothing: it is recorded.
  std::optional<Record> measured(const Commit& commit) const {
    if (is_recorded(commit)) {
      return std::nullopt;
    }
    say("  building");
    const fs::path program = revisions_.build(commit.name);
    // Noted, so that the commit is not built again to list them.
    fs::create_directories(noted_);
    write_whole(
        noted_ / commit.name,
        fmt::format("{}\n",
                    fmt::join(benchmarks_of({.program = program, .scratch = {}}, {}), "\n")));
    return is_recorded(commit) ? std::nullopt : std::optional(record_of(options_, commit, program));
  }

  /// Uses the current compiler and flags of the tree, which may be those of another commit.
  bool is_recorded(const Commit& commit) const {
    const Built built = built_in(revisions_.tree());
    const auto known = known_.find({commit.name, built.compiler, built.flags});
    const Names wanted = noted_and_wanted(commit.name);
    const bool is_there = !options_.again && known != known_.end() && !wanted.empty() &&
                          std::ranges::all_of(wanted, [&](const std::string& name) {
                            return known->second.contains(name);
                          });
    if (is_there) {
      say("  is recorded; --again measures it once more");
    }
    return is_there;
  }

  /// The noted names that match the request; none if nothing was noted.
  Names noted_and_wanted(const std::string& hash) const {
    Names names;
    std::ifstream file(noted_ / hash);
    for (std::string name; std::getline(file, name);) {
      if (!name.empty() && match(options_.benches, name)) {
        names.push_back(name);
      }
    }
    return names;
  }

  const RecordOptions& options_;
  Store& store_;
  const fs::path& checkout_;
  const fs::path noted_;
  const Revisions revisions_;
  const Known known_;
};

Exit record_commits(const RecordOptions& options, Store& store) {
  const std::size_t dots = options.range.find("..");
  const auto checkout = own_checkout();
  if (dots == std::string::npos || !checkout) {
    give_up("{}", checkout ? "--commits wants A..B" : "this program was not built in a checkout");
  }
  auto hashes =
      commits_between(*checkout, options.range.substr(0, dots), options.range.substr(dots + 2));
  if (!hashes || hashes->empty()) {
    give_up("{} names no commits: the first has to be an ancestor of the last", options.range);
  }
  // One of every `every` commits, counted back from the last one.
  std::size_t back = hashes->size();
  std::erase_if(*hashes, [&](const std::string&) { return --back % options.every != 0; });
  return RecordingCommits(options, store, *checkout).run(*hashes);
}

}  // namespace

Exit run_record(const RecordOptions& options) {
  Store store = Store::open_to_write(history_at(options.database));
  if (!options.range.empty()) {
    return record_commits(options, store);
  }
  options.files.empty() ? record_here(options, store) : import_files(options, store);
  return Exit::clean;
}

fs::path history_at(const std::string& database) {
  return database.empty() ? own_checkout().value_or(".") / "build/perf/history.sqlite"
                          : fs::path(database);
}

}  // namespace lastref::perf
