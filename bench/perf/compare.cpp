#include "bench/perf/compare.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "bench/perf/benchmark_program.hpp"
#include "bench/perf/priority.hpp"

namespace lastref::perf {
namespace {

using Clock = std::chrono::steady_clock;
using MaybeTimes = tl::expected<std::vector<double>, std::string>;

tl::unexpected<std::string> no(std::string why) {
  return tl::unexpected<std::string>(std::move(why));
}

tl::unexpected<NotCompared> not_built(std::string why) {
  NotCompared reason(std::move(why));
  reason.is_not_built = true;
  return tl::unexpected<NotCompared>(std::move(reason));
}

void say(const std::string& line) {
  std::cerr << "lastref perf: " << line << std::endl;
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
      say(line);
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

  tl::expected<Comparison, NotCompared> run() {
    return options_.command.empty() ? compare_benchmarks() : compare_commands();
  }

 private:
  tl::expected<Comparison, NotCompared> compare_benchmarks() {
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
    return is_file_a ? compare_files(*a, *b) : compare_builds(*a, *b);
  }

  tl::expected<Comparison, NotCompared> compare_files(const FoundSide& a, const FoundSide& b) {
    comparison_.has_pairs = false;
    const auto run_a = read_run(a.program);
    const auto run_b = read_run(b.program);
    if (!run_a || !run_b) {
      return no(fmt::format("{}: {}",
                            run_a ? options_.b : options_.a,
                            describe(run_a ? run_b.error() : run_a.error())));
    }
    const auto names_a = names_in(*run_a);
    const auto both = split(names_a, names_in(*run_b));
    if (both.empty()) {
      return none_in_common();
    }
    set_rows(both.size());
    std::vector<Judgement> judgements;
    for (const std::string& name : both) {
      const MeasuredBenchmark& of_a = benchmark_in(*run_a, name);
      const MeasuredBenchmark& of_b = benchmark_in(*run_b, name);
      ComparedRow row{.name = name, .a = seconds_that_count(of_a), .b = seconds_that_count(of_b)};
      row.error = !of_a.error.empty()   ? "A: " + of_a.error
                  : !of_b.error.empty() ? "B: " + of_b.error
                                        : error_of(row);
      row.judgement = row.error.empty()
                          ? judge_samples(row.a, row.b, comparison_.rules, comparison_.seed)
                          : Judgement{.has_pairs = false, .why = row.error};
      judgements.push_back(row.judgement);
      comparison_.rows.push_back(std::move(row));
    }
    judge_together(judgements, comparison_.rules);
    for (std::size_t at = 0; at < judgements.size(); ++at) {
      ComparedRow& row = comparison_.rows[at];
      row.judgement = row.error.empty() ? judgements[at] : row.judgement;
    }
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

  tl::expected<Comparison, NotCompared> compare_builds(FoundSide& a, FoundSide& b) {
    for (FoundSide* const side : {&a, &b}) {
      if (const auto built = build_side(*side, options_.sides, say); !built) {
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
  tl::expected<Comparison, NotCompared> compare_commands() {
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
      if (const auto built = build_side(*found, options_.sides, say); !built) {
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

  tl::expected<Comparison, NotCompared> run_units(const std::vector<Unit>& units,
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
    say(fmt::format("{} against {}, {} rows, --seed {}",
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

}  // namespace

tl::expected<Comparison, NotCompared> compare(CompareOptions options) {
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
