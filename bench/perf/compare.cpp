#include "bench/perf/compare.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/perf/files.hpp"
#include "bench/perf/google_benchmark.hpp"
#include "bench/perf/process.hpp"
#include "bench/perf/record.hpp"
#include "bench/perf/verbs.hpp"
#include "harness/explore/plans.hpp"

namespace lastref::perf {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;
using MaybeTimes = OrWhy<std::vector<double>>;

tl::unexpected<CompareError> not_built(std::string why) {
  CompareError reason(std::move(why));
  reason.is_not_built = true;
  return tl::unexpected<CompareError>(std::move(reason));
}

void tell(const std::string& line) {
  say("lastref perf: " + line);
}

/// One line on standard error. A terminal updates it; otherwise it is printed once per look.
class ProgressLine {
 public:
  void tell(const Progress& progress) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - began_).count();
    const std::string line = fmt::format("look {} of {}: {} left, pair {} of at most {}, {:.0f} s",
                                         progress.look,
                                         progress.looks,
                                         progress.unsettled,
                                         progress.pairs + 1,
                                         progress.pairs_max,
                                         elapsed);
    if (is_terminal_) {
      std::cerr << '\r' << line << "    " << std::flush;
    } else if (progress.look != look_) {
      perf::tell(line);
    }
    look_ = progress.look;
  }
  void end() const {
    if (is_terminal_ && look_ > 0) {
      std::cerr << std::endl;
    }
  }

 private:
  Clock::time_point began_ = Clock::now();
  std::size_t look_ = 0;
  bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
};

class Comparer {
 public:
  explicit Comparer(CompareOptions options) : options_(std::move(options)) {
    comparison_.seed = options_.seed.value_or(new_seed());
  }

  tl::expected<Comparison, CompareError> run() {
    return options_.command.empty() ? compare_benchmarks() : compare_commands();
  }

 private:
  tl::expected<Comparison, CompareError> compare_benchmarks() {
    auto a = find_side(options_.a, options_.sides);
    auto b = a ? find_side(options_.b, options_.sides) : a;
    if (!b) {
      return no(b.error());
    }
    comparison_.a = a->name;
    comparison_.b = b->name;
    const bool is_file_a = a->kind == SideKind::file;
    if (is_file_a != (b->kind == SideKind::file)) {
      return no(
          fmt::format("{} was measured at another time than {} would be: compare a file with "
                      "a file, or builds with each other",
                      is_file_a ? options_.a : options_.b,
                      is_file_a ? options_.b : options_.a));
    }
    return is_file_a ? compare_files() : compare_builds(*a, *b);
  }

  tl::expected<Comparison, CompareError> compare_files() {
    comparison_.has_pairs = false;
    const auto run_a = read_run(options_.a);
    const auto run_b = read_run(options_.b);
    if (!run_a || !run_b) {
      return no(run_a ? run_b.error() : run_a.error());
    }
    const auto names_a = names_in(*run_a);
    const auto both = split(names_a, names_in(*run_b));
    if (both.empty()) {
      return none_in_common();
    }
    set_rows(both.size());
    for (const std::string& name : both) {
      const MeasuredBenchmark& of_a = benchmark_in(*run_a, name);
      const MeasuredBenchmark& of_b = benchmark_in(*run_b, name);
      ComparedRow row{.name = name, .a = seconds_that_count(of_a), .b = seconds_that_count(of_b)};
      row.error = !of_a.error.empty()   ? "A: " + of_a.error
                  : !of_b.error.empty() ? "B: " + of_b.error
                                        : error_of(row);
      row.judgement = row.error.empty()
                          ? judge_samples(row.a, row.b, comparison_.rules, comparison_.seed)
                          : Judgement{.has_pairs = false};
      comparison_.rows.push_back(std::move(row));
    }
    judge_rows(comparison_.rows, comparison_.rules);
    return std::move(comparison_);
  }

  static std::string error_of(const ComparedRow& row) {
    const auto is_none = [](double time) { return time <= 0; };
    return std::ranges::any_of(row.a, is_none) || std::ranges::any_of(row.b, is_none)
               ? "it took no time that can be compared"
               : "";
  }

  std::vector<std::string> names_in(const BenchmarkRun& run) const {
    std::vector<std::string> names;
    for (const MeasuredBenchmark& benchmark : run.benchmarks) {
      if (match(options_.benches, benchmark.name)) {
        names.push_back(benchmark.name);
      }
    }
    return names;
  }

  tl::unexpected<std::string> none_in_common() const {
    return no("of those that A and B have in common, " + no_benchmark_matches(options_.benches));
  }

  static const MeasuredBenchmark& benchmark_in(const BenchmarkRun& run, const std::string& name) {
    return *std::ranges::find(run.benchmarks, name, &MeasuredBenchmark::name);
  }

  tl::expected<Comparison, CompareError> compare_builds(FoundSide& a, FoundSide& b) {
    for (FoundSide* const side : {&a, &b}) {
      if (const auto built = build_side(*side, options_.sides, tell); !built) {
        return not_built(built.error());
      }
      if (side->program.empty()) {
        auto program = program_in(side->folder, options_.sides);
        if (!program && side->kind == SideKind::revision) {
          return not_built(program.error());
        }
        if (!program) {
          return no(program.error());
        }
        side->program = *std::move(program);
      }
    }
    const bool know_both =
        knows_variable(a.program, without_peers) && knows_variable(b.program, without_peers);
    const auto of = [&](const FoundSide& side) {
      return BenchmarkOptions{.program = side.program,
                              .seconds_at_least = options_.seconds_at_least,
                              .environment = know_both && !options_.with_peers
                                                 ? Environment{{without_peers, "1"}}
                                                 : Environment{},
                              .scratch = scratch_.path(),
                              .patience = options_.patience};
    };
    const BenchmarkOptions of_a = of(a);
    const BenchmarkOptions of_b = of(b);
    const auto names_a = benchmarks_of(of_a, options_.benches);
    const auto names_b = names_a ? benchmarks_of(of_b, options_.benches) : names_a;
    const auto is_revision = [](const FoundSide& side) { return side.kind == SideKind::revision; };
    if (!names_b && is_revision(names_a ? b : a)) {
      return not_built(names_b.error());
    }
    if (!names_b) {
      return no(names_b.error());
    }
    std::vector<Unit> units;
    for (const std::string& name : split(*names_a, *names_b)) {
      units.push_back({.name = name, .rows = {name}});
    }
    if (units.empty() && (is_revision(a) || is_revision(b))) {
      return not_built(none_in_common().value());
    }
    return run_units(units, [&](Side side, std::size_t unit) -> MaybeTimes {
      const auto measured = measure_benchmark(side == Side::a ? of_a : of_b, units[unit].name);
      // The benchmark may have its own repetitions. They share one process, so they are one value.
      return measured ? MaybeTimes(std::vector{median_of(seconds_that_count(*measured))})
                      : no(measured.error());
    });
  }

  /// A command with {} runs in the current folder, any other in the folder of its side.
  tl::expected<Comparison, CompareError> compare_commands() {
    const bool has_place = std::ranges::any_of(options_.command, [](const std::string& word) {
      return word.find("{}") != std::string::npos;
    });
    ProcessOptions processes[2];
    for (const Side side : {Side::a, Side::b}) {
      const std::string& word = side == Side::a ? options_.a : options_.b;
      ProcessOptions& process = processes[side == Side::a ? 0 : 1];
      (side == Side::a ? comparison_.a : comparison_.b) = word;
      process = {.words = options_.command,
                 .log = scratch_.path() / "command.log",
                 .patience = options_.patience};
      if (has_place) {
        std::ranges::for_each(process.words, [&](std::string& each) { fill_in(each, word); });
        continue;
      }
      auto found = find_side(word, options_.sides);
      if (found && found->folder.empty()) {
        found = no(word + " is no folder to run a command in");
      }
      if (!found) {
        return no(found.error());
      }
      if (const auto built = build_side(*found, options_.sides, tell); !built) {
        return not_built(built.error());
      }
      (side == Side::a ? comparison_.a : comparison_.b) = found->name;
      process.folder = found->folder;
      in_use_.push_back(*std::move(found));
    }
    const std::vector<Unit> units = {{.name = "command", .rows = {"wall time", "processor time"}}};
    std::string not_started;
    auto compared = run_units(units, [&](Side side, std::size_t) -> MaybeTimes {
      const auto times = run_measured(processes[side == Side::a ? 0 : 1]);
      if (!times && times.error().why == FailedProcess::Why::not_started) {
        not_started = describe(times.error());
      }
      return times ? MaybeTimes({times->wall_seconds, times->processor_seconds})
                   : no(describe(times.error()));
    });
    // A command that never started is an error, not an unclear result. After a first pair, the
    // cause is the machine.
    if (compared && !not_started.empty() && compared->rows.front().a.empty()) {
      return no(not_started);
    }
    return compared;
  }

  static void fill_in(std::string& word, const std::string& side) {
    for (std::size_t at = word.find("{}"); at != std::string::npos; at = word.find("{}", at)) {
      word.replace(at, 2, side);
      at += side.size();
    }
  }

  tl::expected<Comparison, CompareError> run_units(const std::vector<Unit>& units,
                                                   const MeasureOnce& measure) {
    if (units.empty()) {
      return none_in_common();
    }
    set_rows(rows_in(units));
    if (looks_of(comparison_.rules).empty()) {
      return no(
          fmt::format("--pairs-max {} can tell nothing: for {} rows at --alpha {} it takes {}",
                      comparison_.rules.pairs_max,
                      comparison_.rules.rows,
                      comparison_.rules.alpha,
                      least_pairs(comparison_.rules)));
    }
    tell(fmt::format("{} against {}, {} rows, --seed {}",
                     comparison_.a,
                     comparison_.b,
                     comparison_.rules.rows,
                     comparison_.seed));
    be_first_in_line();
    ProgressLine line;
    const auto began = Clock::now();
    comparison_.rows =
        run_in_pairs(units,
                     measure,
                     {.rules = comparison_.rules,
                      .seed = comparison_.seed,
                      .is_over =
                          [&] {
                            return options_.budget &&
                                   std::chrono::duration<double>(Clock::now() - began).count() >
                                       *options_.budget;
                          },
                      .tell = [&](const Progress& progress) { line.tell(progress); }});
    line.end();
    return std::move(comparison_);
  }

  void set_rows(std::size_t rows) {
    comparison_.rules = options_.rules;
    comparison_.rules.rows = rows;
  }

  /// The names that both have, in A's order; the others are recorded as only in A or B.
  std::vector<std::string> split(const std::vector<std::string>& a,
                                 const std::vector<std::string>& b) {
    std::vector<std::string> both;
    for (const std::string& name : a) {
      const bool is_common = std::ranges::find(b, name) != b.end();
      (is_common ? both : comparison_.only_in_a).push_back(name);
    }
    std::ranges::copy_if(
        b, std::back_inserter(comparison_.only_in_b), [&](const std::string& name) {
          return std::ranges::find(a, name) == a.end();
        });
    return both;
  }

  CompareOptions options_;
  ScratchFolder scratch_;
  Comparison comparison_;
  std::vector<FoundSide> in_use_;
};

bool needs_another_look(const ComparedRow& row) {
  return (row.judgement.verdict == Verdict::slower && row.judgement.is_beyond) ||
         row.judgement.verdict == Verdict::cannot_tell;
}

std::string verdict_of(const Judgement& judgement, const Rules& rules) {
  const double percent = rules.tolerance * 100;
  switch (judgement.verdict) {
    case Verdict::same:
      return fmt::format("same within ±{:g} %", percent);
    case Verdict::faster:
    case Verdict::slower:
      return fmt::format("{}, {} {:g} %",
                         name_of(judgement.verdict),
                         judgement.is_beyond ? "beyond" : "within",
                         percent);
    case Verdict::cannot_tell:
      return name_of(judgement.verdict);
  }
  return {};
}

std::string bound(double value) {
  return std::isfinite(value) && value > 0 ? fmt::format("{:.3f}", value) : "?";
}

/// The width of UTF-8 text, to align columns.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::size_t count_of(const Comparison& comparison, Verdict verdict, bool is_beyond) {
  return static_cast<std::size_t>(std::ranges::count_if(comparison.rows, [&](const auto& row) {
    return row.judgement.verdict == verdict && row.judgement.is_beyond == is_beyond;
  }));
}

std::string totals_of(const Comparison& comparison) {
  struct Kind {
    std::size_t count;
    const char* what;
  };
  std::string line;
  for (const auto& [count, what] : std::initializer_list<Kind>{
           {count_of(comparison, Verdict::slower, /*is_beyond=*/true),
            "slower beyond the tolerance"},
           {count_of(comparison, Verdict::slower, /*is_beyond=*/false), "slower within it"},
           {count_of(comparison, Verdict::faster, /*is_beyond=*/true), "faster beyond it"},
           {count_of(comparison, Verdict::faster, /*is_beyond=*/false), "faster within it"},
           {count_of(comparison, Verdict::same, /*is_beyond=*/false), "the same"},
           {count_of(comparison, Verdict::cannot_tell, /*is_beyond=*/false), "cannot be told"}}) {
    if (count > 0) {
      line += fmt::format("{}{} {}", line.empty() ? "" : ", ", count, what);
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

harness::Exit run_compare(const CompareOptions& options) {
  if (!options.json.empty() && !is_writable(options.json)) {
    return refuse(options.json + " cannot be written");
  }
  const auto comparison = compare(options);
  if (!comparison) {
    const CompareError& reason = comparison.error();
    const harness::Exit exit = refuse(reason.why);
    return reason.is_not_built ? harness::Exit::does_not_apply : exit;
  }
  std::cout << text_of(*comparison, options);
  if (!options.json.empty() && !write_whole(options.json, to_json(*comparison))) {
    return refuse(options.json + " cannot be written");
  }
  return exit_of(*comparison);
}

tl::expected<Comparison, CompareError> compare(CompareOptions options) {
  return Comparer(std::move(options)).run();
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
