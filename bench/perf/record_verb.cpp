// record: measures, or reads what others have measured, and stores it.
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/perf/benchmark_program.hpp"
#include "bench/perf/built.hpp"
#include "bench/perf/commits.hpp"
#include "bench/perf/figures.hpp"
#include "bench/perf/foreign.hpp"
#include "bench/perf/measured_process.hpp"
#include "bench/perf/record.hpp"
#include "bench/perf/revisions.hpp"
#include "bench/perf/store.hpp"
#include "bench/perf/verbs.hpp"

namespace lastref::perf {
namespace {

namespace fs = std::filesystem;
using harness::Exit;

struct RecordOptions {
  std::string database = {};
  Globs benches = {};
  int repetitions = 10;
  double seconds = 0.05;
  std::vector<std::string> files = {};
  std::string commit = {};
  std::string range = {};
  std::size_t every = 1;
  bool again = false;
  bool is_here = false;
};

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void complain(const std::string& what) {
  std::cerr << "lastref perf record: " << what << std::endl;
}

/// Progress. Where it cannot be written, nothing is amiss.
void say(const std::string& what) {
  std::cerr << what << std::endl;
}

/// One more round behind those before it.
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

/// Measures in rounds, each a process of its own, for a process has luck: where its memory lies,
/// and who its neighbours are.
class Measuring {
 public:
  explicit Measuring(const RecordOptions& options) : options_(options) {}

  tl::expected<std::vector<MeasuredBenchmark>, std::string> run(const fs::path& program) const {
    const auto filter = filter_of_those_that_match(program);
    if (!filter) {
      return tl::unexpected(filter.error());
    }
    std::vector<MeasuredBenchmark> all;
    for (int round = 1; round <= options_.repetitions; ++round) {
      say(fmt::format("  round {} of {}", round, options_.repetitions));
      auto measured = once(program, *filter);
      if (!measured) {
        return tl::unexpected(measured.error());
      }
      for (MeasuredBenchmark& benchmark : *measured) {
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

 private:
  /// For Google Benchmark, which has regular expressions alone.
  tl::expected<std::string, std::string> filter_of_those_that_match(const fs::path& program) const {
    const auto names = benchmarks_of({.program = program, .scratch = {}}, options_.benches);
    if (!names || names->empty()) {
      return tl::unexpected(names ? no_benchmark_matches(options_.benches) : names.error());
    }
    std::string filter;
    for (const std::string& name : *names) {
      filter += (filter.empty() ? "" : "|") + filter_for(name);
    }
    return filter;
  }

  tl::expected<std::vector<MeasuredBenchmark>, std::string> once(const fs::path& program,
                                                                 const std::string& filter) const {
    const ScratchFolder scratch;
    const fs::path file = scratch.path() / "run.json";
    const auto done =
        run_measured({.words = {program.string(),
                                "--benchmark_filter=" + filter,
                                fmt::format("--benchmark_min_time={}", options_.seconds),
                                "--benchmark_repetitions=1",
                                "--benchmark_enable_random_interleaving=true",
                                "--benchmark_out_format=json",
                                "--benchmark_out=" + file.string()},
                      .log = scratch.path() / "log",
                      .patience = std::chrono::hours(4)});
    if (!done) {
      return tl::unexpected(describe(done.error()));
    }
    auto read = read_run(file);
    if (!read) {
      return tl::unexpected(describe(read.error()));
    }
    return std::move(read->benchmarks);
  }

  const RecordOptions& options_;
};

Exit add(Store& store, const Record& record, const std::string& what) {
  const auto added = store.add(record);
  if (!added) {
    complain(describe(added.error()));
    return Exit::unusable;
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
  return Exit::clean;
}

Exit import_files(const RecordOptions& options, Store& store) {
  for (const std::string& path : options.files) {
    const auto run = read_run(path);
    if (!run) {
      const bool says_path = run.error().why == UnreadableRun::Why::no_file;
      complain((says_path ? "" : path + ": ") + describe(run.error()));
      return Exit::unusable;
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
    if (const Exit exit = add(store, record, path + " of " + record.commit.name);
        exit != Exit::clean) {
      return exit;
    }
  }
  return Exit::clean;
}

std::string short_name(const Commit& commit) {
  return fmt::format("{} {}", short_commit(commit.name), commit.subject);
}

Exit record_program(const RecordOptions& options,
                    Store& store,
                    const Commit& commit,
                    const fs::path& program,
                    const fs::path& tree) {
  const Machine machine = this_machine();  // The load is that before we add to it.
  auto measured = Measuring(options).run(program);
  if (!measured) {
    complain(measured.error());
    return Exit::unusable;
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

/// The program beside us, of what is checked out.
Exit record_here(const RecordOptions& options, Store& store) {
  const auto program = program_beside_us("lastref_bench");
  const auto checkout = own_checkout();
  const auto commit = checkout ? checked_out(*checkout, now()) : std::nullopt;
  if (!program) {
    complain(program.error());
    return Exit::unusable;
  }
  if (!commit) {
    complain("git does not know which commit this program was built of");
    return Exit::unusable;
  }
  // Else what is measured is not what is checked out, and another commit is blamed for it.
  const fs::path tree = program->parent_path().parent_path();
  if (!is_up_to_date(tree)) {
    complain("lastref_bench is older than the sources; ./lastref perf record builds it first");
    return Exit::unusable;
  }
  say("recording " + short_name(*commit));
  return record_program(options, store, *commit, *program, tree);
}

/// Every so many commits, counted back from the last one.
std::vector<std::string> thinned(const std::vector<std::string>& hashes, std::size_t every) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if ((hashes.size() - 1 - i) % every == 0) {
      kept.push_back(hashes[i]);
    }
  }
  return kept;
}

tl::expected<std::set<std::string>, StoreError> recorded_here(const Store& store) {
  const auto records = store.records();
  if (!records) {
    return tl::unexpected(records.error());
  }
  std::set<std::string> names;
  const std::string here = name_of(this_machine());
  for (const Record& record : *records) {
    if (name_of(record.machine) == here && record.program == "lastref_bench") {
      names.insert(record.commit.name);
    }
  }
  return names;
}

Exit record_commits(const RecordOptions& options, Store& store) {
  const std::size_t dots = options.range.find("..");
  const auto checkout = own_checkout();
  if (dots == std::string::npos || !checkout) {
    complain(checkout ? "--commits wants A..B" : "this program was not built in a checkout");
    return Exit::unusable;
  }
  const auto hashes =
      commits_between(*checkout, options.range.substr(0, dots), options.range.substr(dots + 2));
  if (!hashes || hashes->empty()) {
    complain(
        fmt::format("{} names no commits: the first has to stand below the last", options.range));
    return Exit::unusable;
  }
  const auto known = recorded_here(store);
  if (!known) {
    complain(describe(known.error()));
    return Exit::unusable;
  }
  const Revisions revisions(*checkout, *checkout / "build/perf");
  std::size_t number = 0;
  const std::vector<std::string> wanted = thinned(*hashes, options.every);
  for (const std::string& hash : wanted) {
    const auto commit = commit_in(*checkout, hash);
    say(fmt::format("{} of {}: {}", ++number, wanted.size(), commit ? short_name(*commit) : hash));
    if (!commit || (known->contains(hash) && !options.again)) {
      say("  is recorded; --again measures it once more");
      continue;
    }
    say("  building");
    const auto program = revisions.build(hash);
    if (!program) {
      say("  skipped: it " + program.error());
      continue;
    }
    if (const Exit exit = record_program(options, store, *commit, *program, revisions.tree());
        exit != Exit::clean) {
      say("  skipped: it could not be measured");
    }
  }
  return Exit::clean;
}

Exit record(const RecordOptions& options) {
  auto store = Store::open_to_write(options.database.empty() ? default_history()
                                                             : fs::path(options.database));
  if (!store) {
    complain(describe(store.error()));
    return Exit::unusable;
  }
  if (!options.files.empty()) {
    return import_files(options, *store);
  }
  return options.range.empty() ? record_here(options, *store) : record_commits(options, *store);
}

}  // namespace

fs::path default_history() {
  return own_checkout().value_or(".") / "build/perf/history.sqlite";
}

void add_record(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<RecordOptions>();
  CLI::App* verb = app.add_subcommand("record", "Measures, and keeps what was measured");
  verb->add_option("--db", options->database, "The history; else build/perf/history.sqlite");
  add_bench(*verb, options->benches);
  verb->add_option("--repetitions", options->repetitions, "Rounds, each a process of its own")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  verb->add_option("--seconds", options->seconds, "Of each benchmark in a round, at least")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  CLI::Option* files = verb->add_option(
      "--import", options->files, "Nothing is measured: what Google Benchmark has written as JSON");
  verb->add_option("--commit", options->commit, "Of what is imported; git may know it")
      ->needs(files);
  verb->add_flag("--here", options->is_here, "What is imported was measured on this machine")
      ->needs(files);
  CLI::Option* range =
      verb->add_option("--commits", options->range, "A..B: builds and measures those after A")
          ->excludes(files);
  verb->add_option("--every", options->every, "Every so many of them, and the last one")
      ->check(CLI::Range(1, 1'000'000))
      ->needs(range);
  verb->add_flag("--again", options->again, "Those that are recorded, too")->needs(range);
  verb->callback([options, &chosen] { chosen = [options] { return record(*options); }; });
}

}  // namespace lastref::perf
