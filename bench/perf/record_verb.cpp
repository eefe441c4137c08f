// record: measures, or reads measurements of other programs, and stores them.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/perf/builds.hpp"
#include "bench/perf/figures.hpp"
#include "bench/perf/files.hpp"
#include "bench/perf/git.hpp"
#include "bench/perf/google_benchmark.hpp"
#include "bench/perf/process.hpp"
#include "bench/perf/record.hpp"
#include "bench/perf/store.hpp"
#include "bench/perf/verbs.hpp"

namespace lastref::perf {
namespace {

namespace fs = std::filesystem;
using harness::Exit;

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Exit complain(const std::string& what) {
  return refuse(what, "lastref perf record");
}

/// Appends one round to the previous ones.
void append(MeasuredBenchmark& all, const MeasuredBenchmark& round) {
  const auto behind = [](auto& into, const auto& from) {
    into.insert(into.end(), from.begin(), from.end());
  };
  behind(all.wall_seconds, round.wall_seconds);
  behind(all.processor_seconds, round.processor_seconds);
  behind(all.iterations, round.iterations);
  for (const auto& [name, values] : round.counters) {
    behind(all.counters[name], values);
  }
  all.error = all.error.empty() ? round.error : all.error;
}

/// A filter for Google Benchmark, which only supports regular expressions, for those that match.
OrWhy<std::string> filter_of(const fs::path& program, const Globs& globs) {
  const auto names = benchmarks_of({.program = program, .scratch = {}}, globs);
  if (!names || names->empty()) {
    return no(names ? no_benchmark_matches(globs) : names.error());
  }
  std::vector<std::string> filters;
  std::ranges::transform(*names, std::back_inserter(filters), filter_for);
  return fmt::format("{}", fmt::join(filters, "|"));
}

/// Measures in rounds. Each round is a process of its own, because a process depends on chance:
/// where its memory lies, and which other processes run.
OrWhy<std::vector<MeasuredBenchmark>> measure(const RecordOptions& options,
                                              const fs::path& program) {
  const auto filter = filter_of(program, options.benches);
  if (!filter) {
    return no(filter.error());
  }
  std::vector<MeasuredBenchmark> all;
  for (int round = 1; round <= options.repetitions; ++round) {
    say(fmt::format("  round {} of {}", round, options.repetitions));
    const ScratchFolder scratch;
    auto run = run_benchmarks(
        {.program = program,
         .seconds_at_least = options.seconds,
         .scratch = scratch.path(),
         .patience = std::chrono::hours(4),
         .words = {"--benchmark_repetitions=1", "--benchmark_enable_random_interleaving=true"}},
        *filter);
    if (!run) {
      return no(run.error());
    }
    for (MeasuredBenchmark& benchmark : run->benchmarks) {
      const auto known = std::ranges::find(all, benchmark.name, &MeasuredBenchmark::name);
      if (known == all.end()) {
        all.push_back(std::move(benchmark));
      } else {
        append(*known, benchmark);
      }
    }
  }
  return all;
}

struct RecordError {
  std::string why = {};
  bool is_by_store = false;  ///< The next record would fail as well.
};
using Recorded = tl::expected<void, RecordError>;

Recorded add(Store& store, const Record& record, const std::string& what) {
  const auto added = store.add(record);
  if (!added) {
    return tl::unexpected<RecordError>({.why = added.error(), .is_by_store = true});
  }
  for (const MeasuredBenchmark& benchmark : record.benchmarks) {
    if (!benchmark.error.empty()) {
      say(fmt::format("  {} could not be done: {}", benchmark.name, benchmark.error));
    }
  }
  std::cout << fmt::format("{} {}: {} benchmarks\n",
                           *added ? "recorded" : "has been recorded before:",
                           what,
                           record.benchmarks.size());
  return {};
}

Exit exit_of(const Recorded& recorded) {
  return recorded ? Exit::clean : complain(recorded.error().why);
}

Exit import_files(const RecordOptions& options, Store& store) {
  for (const std::string& path : options.files) {
    const auto run = read_run(path);
    if (!run) {
      return complain(run.error());
    }
    const auto known = options.commit.empty() ? std::nullopt : commit_in(".", options.commit);
    Record record = record_of_foreign(*run, now());
    if (known) {
      record.commit = *known;
    } else if (!options.commit.empty()) {
      record.commit.name = options.commit;
    }
    if (options.is_here) {
      const double load = record.machine.load;
      record.machine = this_machine();
      record.machine.load = load;
    }
    if (const Exit exit = exit_of(add(store, record, path + " of " + record.commit.name));
        exit != Exit::clean) {
      return exit;
    }
  }
  return Exit::clean;
}

std::string short_name(const Commit& commit) {
  return fmt::format("{} {}", short_commit(commit.name), commit.subject);
}

Recorded record_program(const RecordOptions& options,
                        Store& store,
                        const Commit& commit,
                        const fs::path& program,
                        const fs::path& tree) {
  const Machine machine = this_machine();  // The load before the measurement adds to it.
  auto measured = measure(options, program);
  if (!measured) {
    return tl::unexpected<RecordError>({.why = measured.error()});
  }
  const Built built = built_in(tree);
  return add(store,
             {.commit = commit,
              .machine = machine,
              .compiler = built.compiler,
              .flags = built.flags,
              .program = program.filename(),
              .recorded = now(),
              .benchmarks = *std::move(measured)},
             short_name(commit));
}

/// Records the program in the folder of this one, for the commit that is checked out.
Exit record_here(const RecordOptions& options, Store& store) {
  const auto program = program_beside_us("lastref_bench");
  const auto checkout = own_checkout();
  const auto commit = checkout ? checked_out(*checkout, now()) : std::nullopt;
  if (!program) {
    return complain(program.error());
  }
  if (!commit) {
    return complain("git does not know which commit this program was built of");
  }
  // Otherwise the measured program is not the checked-out one, and the wrong commit is blamed.
  const fs::path tree = program->parent_path().parent_path();
  if (!is_up_to_date(tree)) {
    return complain(
        "lastref_bench is older than the sources; ./lastref perf record builds it first");
  }
  say("recording " + short_name(*commit));
  return exit_of(record_program(options, store, *commit, *program, tree));
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
  RecordingCommits(const RecordOptions& options,
                   Store& store,
                   const fs::path& checkout,
                   const std::vector<Record>& records,
                   const Revisions& revisions)
      : options_(options),
        store_(store),
        checkout_(checkout),
        known_(recorded_here(records)),
        noted_(checkout / "build/perf/benchmarks"),
        revisions_(revisions) {}

  /// Stops if the store fails, because later measurements could not be stored.
  Exit run(const std::vector<std::string>& wanted) {
    std::size_t number = 0;
    std::size_t missing = 0;
    for (const std::string& hash : wanted) {
      const auto commit = commit_in(checkout_, hash);
      say(fmt::format(
          "{} of {}: {}", ++number, wanted.size(), commit ? short_name(*commit) : hash));
      const Recorded done = commit ? record(*commit) : not_recorded("git does not know it");
      if (!done && done.error().is_by_store) {
        return exit_of(done);
      }
      if (!done) {
        say("  skipped: " + done.error().why);
        ++missing;
      }
    }
    if (missing > 0) {
      complain(fmt::format("{} of {} commits are not recorded", missing, wanted.size()));
    }
    return missing > 0 ? Exit::incomplete : Exit::clean;
  }

 private:
  static Recorded not_recorded(std::string why) {
    return tl::unexpected<RecordError>({.why = std::move(why)});
  }

  Recorded record(const Commit& commit) {
    if (is_recorded(commit)) {
      return {};
    }
    say("  building");
    const auto program = revisions_.build(commit.name);
    if (!program) {
      return not_recorded("it " + program.error());
    }
    note_benchmarks(commit.name, *program);
    if (is_recorded(commit)) {
      return {};
    }
    auto recorded = record_program(options_, store_, commit, *program, revisions_.tree());
    if (!recorded && !recorded.error().is_by_store) {
      recorded.error().why = "it could not be measured: " + recorded.error().why;
    }
    return recorded;
  }

  /// Uses the current compiler and flags of the tree, which may be those of another commit.
  bool is_recorded(const Commit& commit) const {
    const Built built = built_in(revisions_.tree());
    const auto known = known_.find({commit.name, built.compiler, built.flags});
    const std::vector<std::string> asked = noted_and_asked(commit.name);
    const bool is_there = !options_.again && known != known_.end() && !asked.empty() &&
                          std::ranges::all_of(asked, [&](const std::string& name) {
                            return known->second.contains(name);
                          });
    if (is_there) {
      say("  is recorded; --again measures it once more");
    }
    return is_there;
  }

  /// Writes the names of the benchmarks that a commit has into a file, so that the commit is not
  /// built again to list them.
  void note_benchmarks(const std::string& hash, const fs::path& program) const {
    const auto names = benchmarks_of({.program = program, .scratch = {}}, {});
    std::error_code error;
    fs::create_directories(noted_, error);
    if (names) {
      write_whole(noted_ / hash, fmt::format("{}\n", fmt::join(*names, "\n")));
    }
  }
  /// The noted names that match the request; none if nothing was noted.
  std::vector<std::string> noted_and_asked(const std::string& hash) const {
    std::vector<std::string> names;
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
  const Known known_;
  const fs::path noted_;
  const Revisions& revisions_;
};

Exit record_commits(const RecordOptions& options, Store& store) {
  const std::size_t dots = options.range.find("..");
  const auto checkout = own_checkout();
  if (dots == std::string::npos || !checkout) {
    return complain(checkout ? "--commits wants A..B" : "this program was not built in a checkout");
  }
  auto hashes =
      commits_between(*checkout, options.range.substr(0, dots), options.range.substr(dots + 2));
  if (!hashes || hashes->empty()) {
    return complain(fmt::format("{} names no commits: the first has to be an ancestor of the last",
                                options.range));
  }
  const auto revisions = Revisions::alone_in(*checkout, *checkout / "build/perf", say);
  if (!revisions) {
    return complain(revisions.error());
  }
  // Read after the wait: the process that had the lock may have recorded some of them.
  const auto records = store.records();
  if (!records) {
    return complain(records.error());
  }
  // One of every `every` commits, counted back from the last one.
  std::size_t back = hashes->size();
  std::erase_if(*hashes, [&](const std::string&) { return --back % options.every != 0; });
  return RecordingCommits(options, store, *checkout, *records, *revisions).run(*hashes);
}

}  // namespace

Exit run_record(const RecordOptions& options) {
  auto store = Store::open_to_write(options.database.empty() ? default_history()
                                                             : fs::path(options.database));
  if (!store) {
    return complain(store.error());
  }
  if (!options.files.empty()) {
    return import_files(options, *store);
  }
  return options.range.empty() ? record_here(options, *store) : record_commits(options, *store);
}

fs::path default_history() {
  return own_checkout().value_or(".") / "build/perf/history.sqlite";
}

}  // namespace lastref::perf
