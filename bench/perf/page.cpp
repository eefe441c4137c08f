#include "bench/perf/page.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "bench/perf/figures.hpp"
#include "bench/perf/html.hpp"
#include "bench/perf/page_style.hpp"
#include "bench/perf/plot.hpp"
#include "bench/perf/sparkline.hpp"
#include "bench/perf/statistics.hpp"

namespace lastref::perf {
namespace {

std::string commit_text(const Commit& commit) {
  return fmt::format("<code>{}</code> {}", html(short_commit(commit.name)), html(commit.subject));
}

const char* kind_of(const ChangePoint& change) {
  return change.ratio > 1 ? "slower" : "faster";
}

/// An overview of a line: every name, its last value, and its last change.
std::string overview_of(const Line& line, std::size_t number) {
  std::string text =
      "<div class=\"scroll\"><table class=\"overview\"><thead><tr><th scope=\"col\">Benchmark</th>"
      "<th scope=\"col\" class=\"number\">Last</th><th scope=\"col\" class=\"number\">Commits</th>"
      "<th scope=\"col\" class=\"number\">Changes</th><th scope=\"col\" class=\"number\">Last "
      "change"
      "</th></tr></thead><tbody>\n";
  std::size_t index = 0;
  for (const Series& series : line.series) {
    const std::string name = html(series.benchmark);
    if (series.points.empty()) {
      text += fmt::format(
          "<tr data-name=\"{0}\"><td class=\"name\">{0}</td>"
          "<td colspan=\"4\" class=\"quiet\">could not be done: {1}</td></tr>\n",
          name,
          html(series.error));
      continue;
    }
    text +=
        fmt::format("<tr data-name=\"{0}\"><td class=\"name\"><a href=\"#b{1}-{2}\">{0}</a></td>",
                    name,
                    number,
                    index++);
    const Point& last = series.points.back();
    text += fmt::format(
        "<td class=\"number\">{}</td><td class=\"number\">{}</td>"
        "<td class=\"number\">{}</td>",
        time_figure(last.seconds, last.within),
        series.points.size(),
        series.changes.size());
    if (series.changes.empty()) {
      text += "<td></td></tr>\n";
      continue;
    }
    const ChangePoint& change = series.changes.back();
    text += fmt::format(
        "<td class=\"number {}\">{}</td></tr>\n", kind_of(change), change_figure(change.ratio));
  }
  return text + "</tbody></table></div>\n";
}

/// The median load of the commits from `begin` to `end`, excluding `end`: a busier machine may
/// explain a change.
double load_between(const Series& series, std::size_t begin, std::size_t end) {
  std::vector<double> loads;
  for (std::size_t i = begin; i < end; ++i) {
    loads.push_back(series.points[i].load);
  }
  return median_of(loads);
}

std::string changes_of(const Series& series) {
  if (series.changes.empty()) {
    return {};
  }
  std::string text =
      "<table class=\"changes\"><caption>Change points</caption><thead><tr>"
      "<th scope=\"col\">Change</th><th scope=\"col\">First commit with it</th>"
      "<th scope=\"col\">After</th><th scope=\"col\">May lie in</th>"
      "<th scope=\"col\" class=\"number\">p</th><th scope=\"col\" class=\"number\">Load</th></tr>"
      "</thead><tbody>\n";
  for (std::size_t i = 0; i < series.changes.size(); ++i) {
    const ChangePoint& change = series.changes[i];
    const std::size_t begin = i == 0 ? 0 : series.changes[i - 1].index;
    const std::size_t end =
        i + 1 == series.changes.size() ? series.points.size() : series.changes[i + 1].index;
    const auto name_at = [&](std::size_t index) {
      return html(short_commit(series.points[index].commit.name));
    };
    text += fmt::format(
        "<tr><td class=\"{}\">{}</td><td>{}</td><td><code>{}</code></td>"
        "<td><code>{}</code>..<code>{}</code></td><td class=\"number\">{:.3g}</td><td "
        "class=\"number\">{:.1f}, then {:.1f}</td></tr>\n",
        kind_of(change),
        change_figure(change.ratio, change.ratio_within),
        commit_text(series.points[change.index].commit),
        name_at(change.index - 1),
        name_at(change.place.least - 1),
        name_at(change.place.most),
        change.p,
        load_between(series, begin, change.index),
        load_between(series, change.index, end));
  }
  return text + "</tbody></table>\n";
}

struct CounterOverCommits {
  Within<double> within;
  std::vector<std::optional<double>> values;  ///< one per point
};

/// The last value of each counter, its least and greatest value, and its chart.
std::string counters_of(const Series& series) {
  std::map<std::string, CounterOverCommits> all;
  for (std::size_t at = 0; at < series.points.size(); ++at) {
    for (const auto& [name, value] : series.points[at].counters) {
      CounterOverCommits first{.within = {.least = value, .most = value},
                               .values = std::vector<std::optional<double>>(series.points.size())};
      CounterOverCommits& counter = all.try_emplace(name, std::move(first)).first->second;
      counter.within = {.least = std::min(counter.within.least, value),
                        .most = std::max(counter.within.most, value)};
      counter.values[at] = value;
    }
  }
  if (all.empty()) {
    return {};
  }
  std::string text =
      "<table class=\"counters\"><caption>Counters; of a peer: how many times our time it takes"
      "</caption><thead><tr><th scope=\"col\">Name</th><th scope=\"col\" class=\"number\">Last</th>"
      "<th scope=\"col\" class=\"number\">Least</th><th scope=\"col\" class=\"number\">Most</th>"
      "<th scope=\"col\">Over the commits</th></tr></thead><tbody>\n";
  for (const auto& [name, counter] : all) {
    text += fmt::format(
        "<tr><td class=\"name\">{}</td><td class=\"number\">{}</td>"
        "<td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>\n",
        html(name),
        counter.values.back() ? figure(*counter.values.back()) : "none",
        figure(counter.within.least),
        figure(counter.within.most),
        sparkline_of(counter.values));
  }
  return text + "</tbody></table>\n";
}

std::string article_of(const Series& series, std::size_t line, std::size_t index) {
  std::string text = fmt::format("<article id=\"b{1}-{2}\" data-name=\"{0}\"><header><h3>{0}</h3>",
                                 html(series.benchmark),
                                 line,
                                 index);
  const Point& last = series.points.back();
  text +=
      fmt::format("<p class=\"last\">{}</p></header>\n<p class=\"quiet\">{} commits, last {}</p>\n",
                  time_figure(last.seconds, last.within),
                  series.points.size(),
                  commit_text(last.commit));
  text += "<div class=\"scroll\">" + plot_of(series) + "</div>";
  if (!series.error.empty()) {
    text += fmt::format("<p class=\"quiet\">Once could not be done: {}</p>\n", html(series.error));
  }
  text += "<div class=\"tables scroll\">" + changes_of(series) + counters_of(series) + "</div>";
  return text + "</article>\n";
}

std::string section_of(const Line& line, std::size_t number) {
  std::string text = fmt::format("<section><h2>{}</h2>\n<p class=\"quiet\">{}</p>\n",
                                 html(line.program.empty() ? "unknown program" : line.program),
                                 html(name_of(line.machine)));
  text += fmt::format("<p class=\"quiet\">{}{}{}</p>\n",
                      html(line.compiler.empty() ? "unknown compiler" : line.compiler),
                      line.flags.empty() ? "" : ", ",
                      html(line.flags));
  text += overview_of(line, number);
  std::size_t index = 0;
  for (const Series& series : line.series) {
    if (!series.points.empty()) {
      text += article_of(series, number, index++);
    }
  }
  return text + "</section>\n";
}

/// The range of times and the number of commits of all lines.
std::string span_of(std::span<const Line> lines) {
  std::set<std::string> commits;
  Within<std::int64_t> times{.least = 0, .most = 0};
  for (const Line& line : lines) {
    for (const Series& series : line.series) {
      for (const Point& point : series.points) {
        const std::int64_t time = point.commit.time;
        times.least = commits.empty() ? time : std::min(times.least, time);
        times.most = commits.empty() ? time : std::max(times.most, time);
        commits.insert(point.commit.name);
      }
    }
  }
  if (commits.empty()) {
    return "Nothing is recorded.";
  }
  return fmt::format(
      "{} commits, {} to {}", commits.size(), day_of(times.least), day_of(times.most));
}

}  // namespace

std::string page_of(std::span<const Line> lines, const PageOptions& options) {
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      // Whatever a name contains, nothing is loaded and only the script below runs.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<title>{0}</title>\n<style>{1}</style></head><body>\n<h1>{0}</h1>\n<p>{2}</p>\n",
      html(options.title),
      page_style,
      span_of(lines));
  text += fmt::format(
      "<p class=\"quiet\">A point is the median of the repetitions of a commit; its bar, and what "
      "stands in brackets, is where that lies at {:.0f} %, or all repetitions if they are fewer "
      "than "
      "six. Of a series without any change {:.3g} % would be marked; shorter ones than {} commits "
      "tell nothing. Random orders: seed {}.</p>\n",
      sureness_of_interval * 100,
      options.changes.p * 100,
      values_min(options.changes),
      options.changes.seed);
  text +=
      "<label>Names with<input id=\"filter\" type=\"search\" autocomplete=\"off\"> "
      "<span id=\"shown\" class=\"quiet\" aria-live=\"polite\"></span></label>\n";
  std::size_t number = 0;
  for (const Line& line : lines) {
    text += section_of(line, number++);
  }
  return text + fmt::format("<script>{}</script>\n</body></html>\n", page_script);
}

}  // namespace lastref::perf
