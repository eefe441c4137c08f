#include "bench/perf/history.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "bench/perf/figures.hpp"
#include "bench/perf/files.hpp"
#include "bench/perf/git.hpp"
#include "bench/perf/store.hpp"
#include "bench/perf/verbs.hpp"

namespace lastref::perf {
namespace {

using Json = nlohmann::ordered_json;

constexpr double ns = 1e9;

Json commit_of(const Commit& commit, const std::string& page) {
  // The store has no authors, but readers of this format expect some.
  const Json nobody = {{"name", ""}, {"username", ""}};
  return {{"author", nobody},
          {"committer", nobody},
          {"id", commit.name},
          {"message", commit.subject},
          {"timestamp", moment_of(commit.time)},
          {"url", page.empty() ? "" : page + "/commit/" + commit.name}};
}

Json bench_of(const std::string& name, const Point& point) {
  std::string extra = fmt::format("repetitions: {}\ninterval: [{:.6g}, {:.6g}] ns",
                                  point.repetitions,
                                  point.within.least * ns,
                                  point.within.most * ns);
  for (const auto& [counter, value] : point.counters) {
    extra += fmt::format("\n{}: {:.6g}", counter, value);
  }
  return {{"name", name},
          {"value", point.seconds * ns},
          {"range", fmt::format("± {:.6g}", (point.within.most - point.within.least) / 2 * ns)},
          {"unit", "ns/iter"},
          {"extra", extra}};
}

std::string suite_of(const Line& line) {
  std::string name = program_of(line);
  for (const std::string& more : {name_of(line.machine), line.compiler, line.flags}) {
    name += more.empty() ? "" : ", " + more;
  }
  return name;
}

Json entries_of(const Line& line, const std::string& page) {
  std::map<std::string, Commit> commits;
  std::map<std::string, Json> by_commit;
  for (const Series& series : line.series) {
    for (const Point& point : series.points) {
      const Commit& commit = point.commit;
      Json& entry = by_commit[commit.name];
      if (entry.is_null()) {
        commits.emplace(commit.name, commit);
        entry = {{"commit", commit_of(commit, page)},
                 {"date", commit.time * 1000},
                 {"tool", "googlecpp"},
                 {"benches", Json::array()}};
      }
      entry["benches"].push_back(bench_of(series.benchmark, point));
    }
  }
  Json entries = Json::array();
  for (const Commit& commit : in_order(commits)) {
    entries.push_back(std::move(by_commit.at(commit.name)));
  }
  return entries;
}

using harness::Exit;

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
  fmt::print("{} on {}\n{}\n", program_of(line), name_of(line.machine), build_of(line));
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
               series.points.size() < values_min(changes) ? ", too few to decide" : "");
    for (const ChangePoint& change : series.changes) {
      fmt::print("    {} {}, p {:.3g}: {}\n",
                 change.ratio > 1 ? "slower" : "faster",
                 change_figure(change.ratio, change.ratio_within),
                 change.p,
                 blame(series, change));
    }
  }
}

void write(const std::string& path, const std::string& text) {
  write_whole(path, text);
  fmt::print("wrote {}\n", path);
}

}  // namespace

Exit run_history(const HistoryOptions& options) {
  const auto records = Store::open_to_read(history_at(options.database)).records();
  const std::vector<Line> lines = lines_of(records, options.benches, options.changes);
  if (lines.empty()) {
    give_up("of those that are recorded, {}", no_benchmark_matches(options.benches));
  }
  if (!options.page.empty()) {
    write(options.page, page_of(lines, options.changes));
  }
  if (!options.exported.empty()) {
    ExportOptions how = {.page = url_of(own_checkout().value_or("."))};
    for (const Record& record : records) {
      how.last_update = std::max(how.last_update, record.recorded);
    }
    write(options.exported, exported(lines, how));
  }
  if (options.page.empty() && options.exported.empty()) {
    for (const Line& line : lines) {
      print(line, options.changes);
    }
    fmt::print("p at most {}, seed {}\n", options.changes.p, options.changes.seed);
  }
  return Exit::clean;
}

std::string exported(std::span<const Line> lines, const ExportOptions& options) {
  Json entries = Json::object();
  for (const Line& line : lines) {
    entries[suite_of(line)] = entries_of(line, options.page);
  }
  const Json all = {{"lastUpdate", options.last_update * 1000},
                    {"repoUrl", options.page},
                    {"entries", std::move(entries)}};
  // Names may not be UTF-8.
  return "window.BENCHMARK_DATA = " + all.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lastref::perf
