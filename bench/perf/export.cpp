#include "bench/perf/export.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/perf/figures.hpp"

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
  std::string name = line.program.empty() ? "unknown program" : line.program;
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

}  // namespace

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
