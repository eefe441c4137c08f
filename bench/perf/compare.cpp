#include "bench/perf/compare.hpp"

#include <unistd.h>

#include <cmath>
#include <initializer_list>
#include <iostream>
#include <iterator>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "bench/perf/record.hpp"
#include "bench/perf/verbs.hpp"
#include "harness/explore/plans.hpp"

namespace lastref::perf {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

/// One line on standard error. A terminal updates it; otherwise it is printed once per look.
class ProgressLine {
 public:
  void show(const Progress& progress) {
    const std::string line = fmt::format("look {} of {}: {} left, pair {} of at most {}, {:.0f} s",
                                         progress.look,
                                         progress.looks,
                                         progress.unsettled,
                                         progress.pairs + 1,
                                         progress.pairs_max,
                                         seconds_since(began_));
    if (is_terminal_) {
      std::cerr << '\r' << line << "    " << std::flush;
    } else if (progress.look != look_) {
      say(line);
    }
    look_ = progress.look;
  }
  void end() const {
    if (is_terminal_ && look_ > 0) {
      say("");
    }
  }

 private:
  Clock::time_point began_ = Clock::now();
  std::size_t look_ = 0;
  bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
};

/// What `act` returns. If a revision fails in it, it is not built as it should be.
template <typename Act>
auto of_side(const FoundSide& side, Act act) try {
  return act();
} catch (const std::runtime_error& error) {
  if (side.kind == SideKind::revision) {
    throw NotBuilt(error.what());
  }
  throw;
}

class Comparer {
 public:
  explicit Comparer(const CompareOptions& options) : options_(options) {
    comparison_.seed = options_.seed.value_or(new_seed());
    comparison_.rules = options_.rules;
  }

  Comparison run() {
    if (options_.command.empty()) {
      compare_benchmarks();
    } else {
      compare_commands();
    }
    return std::move(comparison_);
  }

 private:
  void compare_benchmarks() {
    FoundSide a = find_side(options_.a, options_.sides);
    FoundSide b = find_side(options_.b, options_.sides);
    comparison_.a = a.name;
    comparison_.b = b.name;
    const bool is_file_a = a.kind == SideKind::file;
    if (is_file_a != (b.kind == SideKind::file)) {
      give_up(
          "{} was measured at another time than {} would be: compare a file with a file, or builds "
          "with each other",
          is_file_a ? options_.a : options_.b,
          is_file_a ? options_.b : options_.a);
    }
    if (is_file_a) {
      compare_files();
    } else {
      compare_builds(a, b);
    }
  }

  void compare_files() {
    comparison_.has_pairs = false;
    const BenchmarkRun run_a = read_run(options_.a);
    const BenchmarkRun run_b = read_run(options_.b);
    for (const std::string& name : split(names_in(run_a), names_in(run_b))) {
      const MeasuredBenchmark& of_a = *find(run_a, name);
      const MeasuredBenchmark& of_b = *find(run_b, name);
      ComparedRow row{.name = name, .a = seconds_that_count(of_a), .b = seconds_that_count(of_b)};
      const bool are_times =
          std::ranges::all_of(row.a, is_time) && std::ranges::all_of(row.b, is_time);
      row.error = !of_a.error.empty()   ? "A: " + of_a.error
                  : !of_b.error.empty() ? "B: " + of_b.error
                  : are_times           ? ""
                                        : no_time;
      comparison_.rows.push_back(std::move(row));
    }
    comparison_.rules.rows = comparison_.rows.size();
    for (ComparedRow& row : comparison_.rows) {
      row.judgement = row.error.empty()
                          ? judge_samples(row.a, row.b, comparison_.rules, comparison_.seed)
                          : Judgement{.has_pairs = false};
    }
    judge_rows(comparison_.rows, comparison_.rules);
  }

  Names names_in(const BenchmarkRun& run) const {
    Names names;
    for (const MeasuredBenchmark& benchmark : run.benchmarks) {
      if (match(options_.benches, benchmark.name)) {
        names.push_back(benchmark.name);
      }
    }
    return names;
  }

  void compare_builds(FoundSide& a, FoundSide& b) {
    for (FoundSide* const side : {&a, &b}) {
      of_side(*side, [&] {
        build_side(*side, options_.sides);
        if (side->program.empty()) {
          side->program = program_of(side->folder);
        }
      });
    }
    const bool know_both =
        knows_variable(a.program, without_peers) && knows_variable(b.program, without_peers);
    const auto options_for = [&](const FoundSide& side) {
      return BenchmarkOptions{.program = side.program,
                              .seconds_at_least = options_.seconds_at_least,
                              .environment = know_both && !options_.with_peers
                                                 ? Environment{{without_peers, "1"}}
                                                 : Environment{},
                              .scratch = scratch_.path(),
                              .patience = options_.patience};
    };
    const BenchmarkOptions for_a = options_for(a);
    const BenchmarkOptions for_b = options_for(b);
    const auto names_of = [&](const FoundSide& side, const BenchmarkOptions& options) {
      return of_side(side, [&] { return benchmarks_of(options, options_.benches); });
    };
    const Names names_a = names_of(a, for_a);
    const Names names_b = names_of(b, for_b);
    const FoundSide& built = a.kind == SideKind::revision ? a : b;
    std::vector<Unit> units;
    for (const std::string& name : of_side(built, [&] { return split(names_a, names_b); })) {
      units.push_back({.name = name, .rows = {name}});
    }
    run_units(units, [&](Side side, std::size_t unit) {
      const auto measured = measure_benchmark(side == Side::a ? for_a : for_b, units[unit].name);
      // The benchmark may have its own repetitions. They share one process, so they are one value.
      return std::vector{median_of(seconds_that_count(measured))};
    });
  }

  std::filesystem::path program_of(const std::filesystem::path& folder) const {
    const auto program = program_in(folder, options_.sides);
    if (!program) {
      const std::string wanted = options_.sides.program.string();
      give_up(
          "there is no {} in {}", wanted.empty() ? "bin/lastref_bench" : wanted, folder.string());
    }
    return *program;
  }

  /// A command with {} runs in the current folder, any other in the folder of its side.
  void compare_commands() {
    const bool has_place = std::ranges::any_of(options_.command, [](const std::string& word) {
      return word.find("{}") != std::string::npos;
    });
    std::vector<FoundSide> in_use;
    std::vector<ProcessOptions> processes;
    for (auto [word, shown] :
         {std::pair(&options_.a, &comparison_.a), {&options_.b, &comparison_.b}}) {
      ProcessOptions& process =
          processes.emplace_back(ProcessOptions{.words = options_.command,
                                                .log = scratch_.path() / "command.log",
                                                .patience = options_.patience});
      *shown = *word;
      if (has_place) {
        std::ranges::for_each(process.words, [&](std::string& each) { fill_in(each, *word); });
        continue;
      }
      FoundSide& side = in_use.emplace_back(find_side(*word, options_.sides));
      if (side.folder.empty()) {
        give_up("{} is no folder to run a command in", *word);
      }
      of_side(side, [&] { build_side(side, options_.sides); });
      *shown = side.name;
      process.folder = side.folder;
    }
    std::string not_started;
    run_units({{.name = "command", .rows = {"wall time", "processor time"}}},
              [&](Side side, std::size_t) {
                try {
                  const ProcessTimes times = run_measured(processes[side == Side::a ? 0 : 1]);
                  return std::vector{times.wall_seconds, times.processor_seconds};
                } catch (const FailedProcess& failed) {
                  if (failed.why == FailedProcess::Why::not_started) {
                    not_started = failed.what();
                  }
                  throw;
                }
              });
    // A command that never started is an error, not an unclear result. After a first pair, the
    // cause is the machine.
    if (!not_started.empty() && comparison_.rows.front().a.empty()) {
      give_up("{}", not_started);
    }
  }

  static void fill_in(std::string& word, const std::string& side) {
    for (std::size_t at = word.find("{}"); at != std::string::npos; at = word.find("{}", at)) {
      word.replace(at, 2, side);
      at += side.size();
    }
  }

  void run_units(const std::vector<Unit>& units, const MeasureOnce& measure) {
    Rules& rules = comparison_.rules;
    rules.rows = rows_in(units);
    if (looks_of(rules).empty()) {
      give_up("--pairs-max {} can tell nothing: for {} rows at --alpha {} it takes {}",
              rules.pairs_max,
              rules.rows,
              rules.alpha,
              least_pairs(rules));
    }
    say(fmt::format("{} against {}, {} rows, --seed {}",
                    comparison_.a,
                    comparison_.b,
                    rules.rows,
                    comparison_.seed));
    be_first_in_line();
    ProgressLine line;
    const auto began = Clock::now();
    const auto is_over = [&] { return options_.budget && seconds_since(began) > *options_.budget; };
    comparison_.rows =
        run_in_pairs(units,
                     measure,
                     {.rules = rules,
                      .seed = comparison_.seed,
                      .is_over = is_over,
                      .tell = [&](const Progress& progress) { line.show(progress); }});
    line.end();
  }

  /// The names that both have, in A's order; the others are recorded as only in A or B.
  Names split(const Names& a, const Names& b) {
    const auto has = [](const Names& names, const std::string& name) {
      return std::ranges::find(names, name) != names.end();
    };
    Names both;
    for (const std::string& name : a) {
      (has(b, name) ? both : comparison_.only_in_a).push_back(name);
    }
    std::ranges::remove_copy_if(b,
                                std::back_inserter(comparison_.only_in_b),
                                [&](const std::string& name) { return has(a, name); });
    if (both.empty()) {
      give_up("of those that A and B have in common, {}", no_benchmark_matches(options_.benches));
    }
    return both;
  }

  const CompareOptions& options_;
  ScratchFolder scratch_;
  Comparison comparison_;
};

bool needs_another_look(const ComparedRow& row) {
  return (row.judgement.verdict == Verdict::slower && row.judgement.is_beyond) ||
         row.judgement.verdict == Verdict::cannot_tell;
}

std::string verdict_of(const Judgement& judgement, const Rules& rules) {
  const std::string_view name = name_of(judgement.verdict);
  const std::string percent = fmt::format("{:g} %", rules.tolerance * 100);
  switch (judgement.verdict) {
    case Verdict::same:
      return fmt::format("{} within ±{}", name, percent);
    case Verdict::faster:
    case Verdict::slower:
      return fmt::format("{}, {} {}", name, judgement.is_beyond ? "beyond" : "within", percent);
    case Verdict::cannot_tell:
      break;
  }
  return std::string(name);
}

std::string bound(double value) {
  return std::isfinite(value) && value > 0 ? fmt::format("{:.3f}", value) : "?";
}

/// The width of UTF-8 text, to align columns.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::string totals_of(const Comparison& comparison) {
  struct Kind {
    Verdict verdict;
    bool is_beyond;
    const char* what;
  };
  std::string line;
  for (const Kind& kind : {Kind{Verdict::slower, /*is_beyond=*/true, "slower beyond the tolerance"},
                           Kind{Verdict::slower, /*is_beyond=*/false, "slower within it"},
                           Kind{Verdict::faster, /*is_beyond=*/true, "faster beyond it"},
                           Kind{Verdict::faster, /*is_beyond=*/false, "faster within it"},
                           Kind{Verdict::same, /*is_beyond=*/false, "the same"},
                           Kind{Verdict::cannot_tell, /*is_beyond=*/false, "cannot be told"}}) {
    const auto count = std::ranges::count_if(comparison.rows, [&](const ComparedRow& row) {
      return row.judgement.verdict == kind.verdict && row.judgement.is_beyond == kind.is_beyond;
    });
    if (count > 0) {
      line += fmt::format("{}{} {}", line.empty() ? "" : ", ", count, kind.what);
    }
  }
  return line;
}

std::string list_of(const char* title, const std::vector<std::string>& names) {
  return names.empty() ? "" : fmt::format("{}: {}\n", title, fmt::join(names, ", "));
}

Json json_of(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json json_of(const ComparedRow& row) {
  const Judgement& judgement = row.judgement;
  return {{"name", row.name},
          {"verdict", name_of(judgement.verdict)},
          {"beyond_tolerance", judgement.is_beyond},
          {"ratio", json_of(judgement.ratio)},
          {"ratio_low", json_of(judgement.interval.low)},
          {"ratio_high", json_of(judgement.interval.high)},
          {"p", judgement.p},
          {judgement.has_pairs ? "pairs" : "repetitions", judgement.pairs},
          {"why", judgement.why.empty() ? Json(nullptr) : Json(judgement.why)},
          {"a_seconds", row.a},
          {"b_seconds", row.b}};
}

/// The command that measures again the rows that are slower beyond the tolerance, or that have no
/// verdict.
std::string command_for(const Comparison& comparison, const CompareOptions& options) {
  std::string command = fmt::format(
      "lastref perf compare {} {}", harness::quoted(options.a), harness::quoted(options.b));
  for (const ComparedRow& row : comparison.rows) {
    if (options.command.empty() && needs_another_look(row)) {
      command += " --bench " + harness::quoted(glob_for(row.name));
    }
  }
  const auto add_if = [&](bool is_unusual, const char* option, const auto& value) {
    command += is_unusual ? fmt::format(" {} {}", option, value) : "";
  };
  const CompareOptions usual;
  const Rules& rules = options.rules;
  add_if(rules.tolerance != usual.rules.tolerance,
         "--tolerance",
         fmt::format("{:g}", rules.tolerance * 100));
  add_if(rules.alpha != usual.rules.alpha, "--alpha", fmt::format("{:g}", rules.alpha));
  add_if(rules.pairs_max != usual.rules.pairs_max, "--pairs-max", rules.pairs_max);
  add_if(options.seconds_at_least != usual.seconds_at_least,
         "--min-time",
         fmt::format("{:g}", options.seconds_at_least));
  add_if(options.patience != usual.patience, "--patience", options.patience.count());
  add_if(options.budget.has_value(), "--budget", options.budget.value_or(0));
  command += options.with_peers ? " --with-peers" : "";
  add_if(!options.sides.build.empty(), "--build", harness::quoted(options.sides.build));
  add_if(
      !options.sides.program.empty(), "--program", harness::quoted(options.sides.program.string()));
  command += fmt::format(" --seed {}", comparison.seed);
  command += options.command.empty() ? "" : " --";
  for (const std::string& word : options.command) {
    command += ' ' + harness::quoted(word);
  }
  return command;
}

/// A table and a summary. If a row is not as it should be, also a command that repeats it.
std::string text_of(const Comparison& comparison, const CompareOptions& options) {
  std::size_t name_width = 9;
  std::size_t verdict_width = 7;
  for (const ComparedRow& row : comparison.rows) {
    name_width = std::max(name_width, width_of(row.name));
    verdict_width = std::max(verdict_width, width_of(verdict_of(row.judgement, comparison.rules)));
  }
  std::string text = fmt::format("{:<{}}  {:<{}}  {:>7}  {:>15}  {:>7}  {:>5}\n",
                                 "",
                                 name_width,
                                 "B is",
                                 verdict_width,
                                 "B to A",
                                 "interval",
                                 "p",
                                 comparison.has_pairs ? "pairs" : "times");
  for (const ComparedRow& row : comparison.rows) {
    const Judgement& judgement = row.judgement;
    text += fmt::format("{:<{}}  {:<{}}  {:>7}  {:>15}  {:>7.1g}  {:>5}{}\n",
                        row.name,
                        name_width,
                        verdict_of(judgement, comparison.rules),
                        verdict_width,
                        bound(judgement.ratio),
                        bound(judgement.interval.low) + " to " + bound(judgement.interval.high),
                        judgement.p,
                        judgement.pairs,
                        judgement.why.empty() ? "" : "  " + judgement.why);
  }
  text += list_of("only in A", comparison.only_in_a);
  text += list_of("only in B", comparison.only_in_b);
  text += totals_of(comparison) + '\n';
  text += comparison.has_pairs
              ? fmt::format("on {}\n", name_of(this_machine()))
              : "not measured in pairs: load of the machine looks like the program\n";
  if (exit_of(comparison) != harness::Exit::clean) {
    text += "again: " + command_for(comparison, options) + '\n';
  }
  return text;
}

std::string to_json(const Comparison& comparison) {
  Json rows = Json::array();
  for (const ComparedRow& row : comparison.rows) {
    rows.push_back(json_of(row));
  }
  const Json all = {{"format", "lastref-perf-compare 1"},
                    {"a", comparison.a},
                    {"b", comparison.b},
                    {"machine", name_of(this_machine())},
                    {"seed", comparison.seed},
                    {"tolerance", comparison.rules.tolerance},
                    {"alpha", comparison.rules.alpha},
                    {"coverage", comparison.rules.coverage},
                    {"rows", std::move(rows)},
                    {"only_in_a", comparison.only_in_a},
                    {"only_in_b", comparison.only_in_b},
                    {"exit", static_cast<int>(exit_of(comparison))}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace

harness::Exit run_compare(const CompareOptions& options) try {
  if (!options.json.empty() && !is_writable(options.json)) {
    give_up("{} cannot be written", options.json);
  }
  const Comparison comparison = compare(options);
  std::cout << text_of(comparison, options);
  if (!options.json.empty()) {
    write_whole(options.json, to_json(comparison));
  }
  return exit_of(comparison);
} catch (const NotBuilt& error) {
  refuse(error.what());
  return harness::Exit::does_not_apply;
}

Comparison compare(const CompareOptions& options) {
  return Comparer(options).run();
}

harness::Exit exit_of(const Comparison& comparison) {
  harness::Exit exit = harness::Exit::clean;
  for (const ComparedRow& row : comparison.rows) {
    if (row.judgement.verdict == Verdict::slower && row.judgement.is_beyond) {
      return harness::Exit::violation;
    }
    if (row.judgement.verdict == Verdict::cannot_tell) {
      exit = harness::Exit::incomplete;
    }
  }
  return exit;
}

}  // namespace lastref::perf
