// history: shows the records as a table, as a page, or as data for another project's page.
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/perf/commits.hpp"
#include "bench/perf/export.hpp"
#include "bench/perf/figures.hpp"
#include "bench/perf/page.hpp"
#include "bench/perf/series.hpp"
#include "bench/perf/store.hpp"
#include "bench/perf/verbs.hpp"
#include "bench/perf/whole_file.hpp"

namespace lastref::perf {
namespace {

using harness::Exit;

struct HistoryOptions {
  std::string database = {};
  Globs benches = {};
  std::string page = {};
  std::string exported = {};
  ChangePointOptions changes = {};
};

void complain(const std::string& what) {
  std::cerr << "lastref perf history: " << what << '\n';
}

/// The commits that may have caused a change: those between two recorded commits.
std::string blame(const Series& series, const ChangePoint& change) {
  const auto name_at = [&](std::size_t index) {
    return short_commit(series.points[index].commit.name);
  };
  const Commit& before = series.points[change.index - 1].commit;
  const Commit& after = series.points[change.index].commit;
  std::string text = fmt::format("{} {}", name_at(change.index), after.subject);
  if (before.position && after.position && *after.position > *before.position + 1) {
    text += fmt::format(", or another of the {} commits after {}",
                        *after.position - *before.position,
                        name_at(change.index - 1));
  }
  if (change.place.least != change.place.most) {
    text += fmt::format(
        "; may lie in {}..{}", name_at(change.place.least - 1), name_at(change.place.most));
  }
  return text;
}

void print(const Line& line, const ChangePointOptions& changes) {
  fmt::print("{} on {}\n{}{}{}\n",
             line.program.empty() ? "unknown program" : line.program,
             name_of(line.machine),
             line.compiler.empty() ? "unknown compiler" : line.compiler,
             line.flags.empty() ? "" : ", ",
             line.flags);
  std::size_t width = 0;
  for (const Series& series : line.series) {
    width = std::max(width, series.benchmark.size());
  }
  for (const Series& series : line.series) {
    if (series.points.empty()) {
      fmt::print("  {:<{}}  could not be done: {}\n", series.benchmark, width, series.error);
      continue;
    }
    const Point& last = series.points.back();
    fmt::print("  {:<{}}  {:<32}  {} commits{}\n",
               series.benchmark,
               width,
               time_figure(last.seconds, last.within),
               series.points.size(),
               series.points.size() < values_min(changes) ? ", too few to tell" : "");
    for (const ChangePoint& change : series.changes) {
      fmt::print("    {} {}, p {:.3g}: {}\n",
                 change.ratio > 1 ? "slower" : "faster",
                 change_figure(change.ratio, change.ratio_within),
                 change.p,
                 blame(series, change));
    }
  }
}

Exit write(const std::string& path, const std::string& text) {
  if (!write_whole(path, text)) {
    complain("cannot write " + path);
    return Exit::unusable;
  }
  fmt::print("wrote {}\n", path);
  return Exit::clean;
}

Exit history(const HistoryOptions& options) {
  const auto store = Store::open_to_read(
      options.database.empty() ? default_history() : std::filesystem::path(options.database));
  const auto records = store ? store->records() : tl::unexpected(store.error());
  if (!records) {
    complain(describe(records.error()));
    return Exit::unusable;
  }
  const std::vector<Line> lines = lines_of(*records, options.benches, options.changes);
  if (lines.empty()) {
    complain("of those that are recorded, " + no_benchmark_matches(options.benches));
    return Exit::unusable;
  }
  if (!options.page.empty()) {
    const PageOptions page = {.changes = options.changes};
    if (const Exit exit = write(options.page, page_of(lines, page)); exit != Exit::clean) {
      return exit;
    }
  }
  if (!options.exported.empty()) {
    ExportOptions how = {.page = url_of(own_checkout().value_or("."))};
    for (const Record& record : *records) {
      how.last_update = std::max(how.last_update, record.recorded);
    }
    return write(options.exported, exported(lines, how));
  }
  if (options.page.empty()) {
    for (const Line& line : lines) {
      print(line, options.changes);
    }
    fmt::print("p at most {}, seed {}\n", options.changes.p, options.changes.seed);
  }
  return Exit::clean;
}

}  // namespace

void add_history(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<HistoryOptions>();
  CLI::App* verb = app.add_subcommand("history", "What was recorded, and where it changed");
  verb->add_option("--db", options->database, "The history; else build/perf/history.sqlite");
  add_bench(*verb, options->benches);
  verb->add_option("--html", options->page, "Writes a page with plots");
  verb->add_option("--export", options->exported, "Writes data.js of github-action-benchmark");
  verb->add_option("--p", options->changes.p, "Of series without a change, how many are marked")
      ->check(CLI::Range(0.001, 0.5))
      ->capture_default_str();
  verb->add_option("--seed", options->changes.seed, "Of the random orders")->capture_default_str();
  verb->callback([options, &chosen] { chosen = [options] { return history(*options); }; });
}

}  // namespace lastref::perf
