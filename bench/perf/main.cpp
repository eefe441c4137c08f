// lastref_perf: the program that `lastref perf` runs. It compares and records speed.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/counted/operations.hpp"
#include "bench/perf/builds.hpp"
#include "bench/perf/compare.hpp"
#include "bench/perf/process.hpp"
#include "bench/perf/record.hpp"
#include "bench/perf/verbs.hpp"
#include "harness/cli/interruption.hpp"

namespace lastref::perf {
namespace {

/// The action that the command line selects; it returns the exit code.
using Chosen = std::function<harness::Exit()>;

/// Adds a verb, which becomes the chosen one if the command line names it. Fills in the options.
template <typename Options, typename Act>
std::pair<CLI::App&, Options&> add_verb(
    CLI::App& app, Chosen& chosen, const char* name, const char* about, Act act) {
  CLI::App& verb = *app.add_subcommand(name, about);
  const auto options = std::make_shared<Options>();
  verb.callback([&chosen, options, act] { chosen = [options, act] { return act(*options); }; });
  return {verb, *options};
}

/// Adds --bench GLOB, which may be repeated.
void add_bench(CLI::App& verb, Globs& globs) {
  verb.add_option("--bench", globs, "Benchmarks, by a pattern as shells have it; else all")
      ->type_name("GLOB")
      ->allow_extra_args(false);
}

void add_bisect(CLI::App& app, Chosen& chosen) {
  const auto [verb, options] = add_verb<BisectOptions>(
      app, chosen, "bisect", "Which commit made a benchmark slower", run_bisect);
  verb.add_option("GOOD", options.good, "A commit that is not slow")->required();
  verb.add_option("BAD", options.bad, "A later one that is")->required();
  verb.add_option("--bench", options.bench, "The benchmark, by a pattern as shells have it")
      ->required();
  verb.add_option(
      "--compare",
      options.compare,
      "What compares instead of lastref perf compare: it is given A B --bench GLOB, "
      "and exits with 0: not slower, 1: slower, 3: cannot tell, 125: cannot be measured");
  verb.add_option("--asks", options.asks, "Of one comparison, until it is decided")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
}

constexpr const char* about_compare =
    "Decides whether B is slower than A: builds both and measures them in pairs.\n"
    "A and B: git revisions, folders of builds, programs, or two files of Google Benchmark's JSON "
    "with repetitions. With -- COMMAND: its wall and processor time, run in folder A and in folder "
    "B, or, where the command has {} in it, with A and with B in that place.\n"
    "Exit code: 1 something is slower beyond the tolerance, 3 something is undecided, 2 it "
    "cannot be compared, 125 a revision does not build or has none of the benchmarks, else 0";

/// Unlike CLI::Range, adds nothing to the help.
auto is_number(double least, double most, const char* what) {
  return [=](const std::string& word) {
    double number = 0;
    return CLI::detail::lexical_cast(word, number) && number >= least && number <= most
               ? ""
               : word + " is not " + what;
  };
}

void add_compare(CLI::App& app, Chosen& chosen, const Words& command) {
  const auto added = add_verb<CompareOptions>(app, chosen, "compare", about_compare, run_compare);
  CLI::App& verb = added.first;
  CompareOptions& options = added.second;
  options.command = command;
  verb.add_option("A", options.a, "What it was")->required();
  verb.add_option("B", options.b, "What it is")->required();
  add_bench(verb, options.benches);
  verb.add_option_function<double>(
          "--tolerance",
          [&options](double percent) { options.rules.tolerance = percent / 100; },
          "Percent that are as good as the same")
      ->check(is_number(1e-9, 1000, "a number of percent above 0 and up to 1000"))
      ->default_str(fmt::format("{:g}", options.rules.tolerance * 100));
  verb.add_option("--alpha", options.rules.alpha, "Chance of a false alarm, of all rows together")
      ->check(is_number(1e-12, 0.5, "a chance from 1e-12 to 0.5"))
      ->capture_default_str();
  verb.add_option("--pairs-max", options.rules.pairs_max, "Pairs of runs for each row at most")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb.add_option("--budget", options.budget, "Seconds for all measurements, without builds")
      ->check(CLI::PositiveNumber);
  verb.add_option_function<std::int64_t>(
          "--patience",
          [&options](std::int64_t seconds) { options.patience = std::chrono::seconds(seconds); },
          "Seconds until a process that does not end is killed")
      ->check(CLI::Range(1, 1'000'000))
      ->default_str(fmt::format("{}", options.patience.count()));
  verb.add_option("--min-time", options.seconds_at_least, "Seconds of each process at least")
      ->check(CLI::Range(0.0001, 100.0))
      ->capture_default_str();
  verb.add_option("--seed", options.seed, "Of the order of runs; printed");
  verb.add_option("--build", options.sides.build, "The shell's, to build a revision")
      ->default_str(default_build());
  verb.add_option("--program", options.sides.program, "The benchmarks, below a folder or revision");
  verb.add_flag("--with-peers", options.with_peers, "Others are measured in between, too");
  verb.add_option("--json", options.json, "A file for all of it, with every time");
  verb.footer("-- COMMAND: what to run, with its words");
}

void add_counters(CLI::App& app, Chosen& chosen) {
  std::vector<std::string> names;
  for (const bench::Operation& operation : bench::operations()) {
    names.emplace_back(operation.name);
  }
  const auto [verb, options] =
      add_verb<CountersOptions>(app,
                                chosen,
                                "counters",
                                "What each hot path asks of the machine: calls, messages, bytes, "
                                "copies",
                                run_counters);
  verb.add_option("OPERATION", options.operations, "Only these")->check(CLI::IsMember(names));
  CLI::Option* const page =
      verb.add_option("--check", options.check, "Compare with the table in this page");
  verb.add_option("--update", options.update, "Write the table into this page")->excludes(page);
  verb.add_option("--plant", options.plant, "Slow it down, to see whether that is seen")
      ->check(CLI::IsMember({"extra_call", "extra_copy", "extra_message"}));
}

void add_growth(CLI::App& app, Chosen& chosen) {
  const auto [verb, options] = add_verb<GrowthOptions>(
      app,
      chosen,
      "growth",
      "How times grow with sizes: exponents. Exit 1 if one is above the limit, else 3 if a size "
      "has no time",
      run_growth);
  verb.add_option("--json",
                  options.json,
                  "Google Benchmark's report, with names as put/slots:1000. Not given: our own "
                  "benchmarks are run")
      ->type_name("FILE");
  verb.add_option("--limit", options.limit, "The largest exponent between the two largest sizes")
      ->check(CLI::PositiveNumber);
  verb.add_option("--seconds", options.seconds, "How long each size is measured, at least")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void add_history(CLI::App& app, Chosen& chosen) {
  const auto [verb, options] = add_verb<HistoryOptions>(
      app, chosen, "history", "What was recorded, and where it changed", run_history);
  verb.add_option("--db", options.database, "The history; else build/perf/history.sqlite");
  add_bench(verb, options.benches);
  verb.add_option("--html", options.page, "Writes a page with plots");
  verb.add_option("--export", options.exported, "Writes data.js of github-action-benchmark");
  verb.add_option("--p", options.changes.p, "Of series without a change, how many are marked")
      ->check(CLI::Range(0.001, 0.5))
      ->capture_default_str();
  verb.add_option("--seed", options.changes.seed, "Of the random orders")->capture_default_str();
}

void add_profile(CLI::App& app, Chosen& chosen, const Words& command) {
  const auto [verb, options] =
      add_verb<ProfileOptions>(app,
                               chosen,
                               "profile",
                               "Where the time of a benchmark, or of any program, goes",
                               run_profile);
  options.command = command;
  verb.footer("-- COMMAND: any program, with its words");
  verb.add_option("--bench", options.name, "A benchmark, as bench names it")->type_name("NAME");
  verb.add_option("--seconds", options.seconds, "How long the benchmark runs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb.add_flag("--looks",
                options.looks,
                "Look at it a thousand times a second, as is done where the kernel does not permit "
                "more");
}

void add_record(CLI::App& app, Chosen& chosen) {
  const auto [verb, options] = add_verb<RecordOptions>(
      app, chosen, "record", "Measures, and keeps what was measured", run_record);
  verb.add_option("--db", options.database, "The history; else build/perf/history.sqlite");
  add_bench(verb, options.benches);
  verb.add_option("--repetitions", options.repetitions, "Rounds, each a process of its own")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  verb.add_option("--seconds", options.seconds, "Of each benchmark in a round, at least")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  CLI::Option* files = verb.add_option(
      "--import", options.files, "Nothing is measured: what Google Benchmark has written as JSON");
  verb.add_option("--commit", options.commit, "Of what is imported; git may know it")->needs(files);
  verb.add_flag("--here", options.is_here, "What is imported was measured on this machine")
      ->needs(files);
  CLI::Option* range =
      verb.add_option("--commits", options.range, "A..B: builds and measures those after A")
          ->excludes(files);
  verb.add_option("--every", options.every, "Every so many of them, and the last one")
      ->check(CLI::Range(1, 1'000'000))
      ->needs(range);
  verb.add_flag("--again", options.again, "Those that are recorded, too")->needs(range);
}

void add_self_test(CLI::App& app, Chosen& chosen) {
  const auto [verb, options] = add_verb<SelfTestOptions>(
      app,
      chosen,
      "self-test",
      "How often compare is wrong here: a program against itself, and against one that is slowed "
      "by 3 % and by 10 % at a random place. Exit code: 1 a false alarm, or too little was found, "
      "3 this machine is too loud to decide, or the time was over, else 0",
      run_self_test);
  verb.add_flag("--quick", options.is_quick, "A minute: fewer trials, and 10 % alone");
  verb.add_option("--budget", options.budget, "Seconds for all of it; else 1000, or 52 if quick")
      ->check(CLI::PositiveNumber);
  verb.add_option("--seed", options.seed, "Of places and of the order of runs; printed");
}

void add_verbs(CLI::App& app, Chosen& chosen, const Words& command) {
  add_compare(app, chosen, command);
  add_self_test(app, chosen);
  add_counters(app, chosen);
  add_record(app, chosen);
  add_history(app, chosen);
  add_bisect(app, chosen);
  add_growth(app, chosen);
  add_profile(app, chosen, command);
  app.add_subcommand("machine", "What times are measured on here")->callback([&chosen] {
    chosen = [] {
      const Machine machine = this_machine();
      fmt::print("{}, load {}\n", name_of(machine), machine.load);
      return harness::Exit::clean;
    };
  });
}

bool takes_command(std::string_view verb) {
  return verb == "compare" || verb == "profile";
}

harness::Exit act_on(int count, char** arguments) {
  CLI::App app{"Whether programs have become slower, and by how much.", "lastref perf"};
  app.require_subcommand(1);
  const std::string_view verb = count > 1 ? arguments[1] : "-";
  char** const end = arguments + count;
  char** const dashes =
      takes_command(verb) ? std::find(arguments, end, std::string_view("--")) : end;
  const Words command(std::min(dashes + 1, end), end);
  if (dashes != end && command.empty()) {
    give_up("{}: no command after --", verb);
  }
  Chosen chosen;
  add_verbs(app, chosen, command);
  const auto named = [&](const CLI::App* known) { return known->get_name() == verb; };
  if (!verb.starts_with('-') && app.get_subcommands(named).empty()) {
    give_up("no verb {}; perf --help lists them", verb);
  }
  try {
    app.parse(static_cast<int>(dashes - arguments), arguments);
  } catch (const CLI::Success& asked) {
    return static_cast<harness::Exit>(app.exit(asked, std::cout, std::cout));
  }
  // timeout(1) sends one signal to this process, and one to its group.
  const harness::Interruption interruption(std::chrono::milliseconds(300));
  const harness::Exit exit = chosen();
  if (!std::cout.flush()) {
    give_up("write to standard output failed");
  }
  return exit;
}

/// Opens closed standard descriptors. Otherwise a file that is opened later would get such a number
/// and receive our output. Standard output is opened read-only, so that writes to it fail, as they
/// should.
void open_what_is_closed() {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(standard, F_GETFD) < 0) {
      static_cast<void>(::open("/dev/null", standard == STDERR_FILENO ? O_WRONLY : O_RDONLY));
    }
  }
}

}  // namespace
}  // namespace lastref::perf

int main(int count, char** arguments) try {
  lastref::perf::open_what_is_closed();
  return static_cast<int>(lastref::perf::act_on(count, arguments));
} catch (const lastref::perf::Interrupted& interrupted) {
  std::cerr << "lastref perf: interrupted; what was measured has ended\n";
  return std::raise(interrupted.signal);
} catch (const std::exception& error) {
  return static_cast<int>(lastref::perf::refuse(error.what()));
}
