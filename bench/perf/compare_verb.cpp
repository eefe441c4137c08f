// perf compare: whether B is slower than A.
#include <cmath>
#include <iostream>
#include <memory>

#include "bench/perf/compare.hpp"
#include "bench/perf/verbs.hpp"
#include "bench/perf/whole_file.hpp"

namespace lastref::perf {
namespace {

constexpr const char* about =
    "Whether B is slower than A: builds and measures both in pairs, until it can be told.\n"
    "A and B: git revisions, folders of builds, programs, or two files of Google Benchmark's JSON "
    "with repetitions. With -- COMMAND: its wall and processor time, run in folder A and in folder "
    "B, or, where the command has {} in it, with A and with B in that place.\n"
    "Exit code: 1 something is slower beyond the tolerance, 3 something cannot be told, 2 it "
    "cannot be compared, 125 a revision does not build or has none of the benchmarks, else 0";

harness::Exit refuse(const std::string& why) {
  std::cerr << "lastref perf: " << why << '\n';
  return harness::Exit::unusable;
}

harness::Exit compare_and_say(const CompareOptions& options) {
  if (!options.json.empty() && !is_writable(options.json)) {
    return refuse(options.json + " cannot be written");
  }
  const auto comparison = compare(options);
  if (!comparison) {
    const NotCompared& reason = comparison.error();
    const harness::Exit exit = refuse(reason.why);
    return reason.is_not_built ? static_cast<harness::Exit>(harness::exit_does_not_apply) : exit;
  }
  std::cout << text_of(*comparison, options);
  if (!options.json.empty() && !write_whole(options.json, to_json(*comparison))) {
    return refuse(options.json + " cannot be written");
  }
  return exit_of(*comparison);
}

std::string check_percent(const std::string& word) {
  double percent = 0;
  return CLI::detail::lexical_cast(word, percent) && percent > 0 && percent <= 1000
             ? ""
             : word + " is not a number of percent above 0 and up to 1000";
}

std::string check_chance(const std::string& word) {
  double chance = 0;
  return CLI::detail::lexical_cast(word, chance) && chance >= 1e-12 && chance <= 0.5
             ? ""
             : word + " is not a chance from 1e-12 to 0.5";
}

}  // namespace

void add_compare(CLI::App& app, Chosen& chosen, const Words& command) {
  CLI::App* verb = app.add_subcommand("compare", about);
  const auto options = std::make_shared<CompareOptions>();
  options->command = command;
  const auto percent = std::make_shared<double>(options->rules.tolerance * 100);
  const auto patience = std::make_shared<std::int64_t>(options->patience.count());
  verb->add_option("A", options->a, "What it was")->required();
  verb->add_option("B", options->b, "What it is")->required();
  add_bench(*verb, options->benches);
  verb->add_option("--tolerance", *percent, "Percent that are as good as the same")
      ->check(check_percent)
      ->capture_default_str();
  verb->add_option("--alpha", options->rules.alpha, "Chance of a false alarm, of all rows together")
      ->check(check_chance)
      ->capture_default_str();
  verb->add_option("--pairs-max", options->rules.pairs_max, "Pairs of runs for each row at most")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_option("--budget", options->budget, "Seconds for all that is measured; builds besides")
      ->check(CLI::PositiveNumber);
  verb->add_option("--patience", *patience, "Seconds until a process that does not end is killed")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  verb->add_option("--min-time", options->seconds_at_least, "Seconds of each process at least")
      ->check(CLI::Range(0.0001, 100.0))
      ->capture_default_str();
  verb->add_option("--seed", options->seed, "Of the order of runs; printed");
  verb->add_option("--build", options->sides.build, "The shell's, to build a revision")
      ->default_str(default_build());
  verb->add_option(
      "--program", options->sides.program, "The benchmarks, below a folder or revision");
  verb->add_flag("--with-peers", options->with_peers, "Others are measured in between, too");
  verb->add_option("--json", options->json, "A file for all of it, with every time");
  verb->footer("-- COMMAND: what to run, with its words");
  verb->callback([&chosen, options, percent, patience] {
    options->rules.tolerance = *percent / 100;
    options->patience = std::chrono::seconds(*patience);
    chosen = [options] { return compare_and_say(*options); };
  });
}

}  // namespace lastref::perf
