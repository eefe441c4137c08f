// The page of a history.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>

#include "bench/perf/figures.hpp"
#include "bench/perf/history.hpp"
#include "bench/perf/statistics.hpp"
#include "harness/report/html.hpp"

namespace lastref::perf {
namespace {

using harness::html;

constexpr std::string_view page_style = R"(
:root { --card: #ffffff; --grid: #eaedf0; --trend: #b4c3d6; --value: #2f5f97;
  --slower: #b13a24; --faster: #1f7346; --level: #8b95a1; }
@media (prefers-color-scheme: dark) { :root { --card: #1a1e23; --grid: #272d34; --trend: #41536a;
  --value: #8db6e8; --slower: #f0917d; --faster: #74cd9c; --level: #717c88; } }
body { margin: 0 auto; padding: 28px 24px 64px; max-width: 1010px; }
h1 { font-size: 26px; margin: 0 0 4px; }
h2 { font-size: 19px; margin: 40px 0 2px; }
h3 { font-size: 15px; margin: 0; font-weight: 600; overflow-wrap: anywhere; }
p { margin: 2px 0; } .quiet { font-size: 13px; }
a { color: inherit; text-decoration-color: var(--edge); text-underline-offset: 3px; }
a:hover { text-decoration-color: currentColor; }
:focus-visible { outline: 2px solid var(--value); outline-offset: 2px; }
label { display: block; margin: 20px 0 0; } input { font: inherit; color: inherit; width: 320px;
  max-width: 100%; margin-left: 8px; padding: 4px 8px; background: var(--card);
  border: 1px solid var(--edge); border-radius: 5px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: 12px 0 0; font-size: 13px; }
caption { text-align: left; white-space: nowrap; color: var(--quiet); padding-bottom: 2px; }
th { text-align: left; font-weight: 600; color: var(--quiet); }
th, td { padding: 3px 22px 3px 0; border-bottom: 1px solid var(--grid); vertical-align: top; }
td.slower, td.faster { white-space: nowrap; }
td.name { overflow-wrap: anywhere; min-width: 150px; } .overview { width: 100%; }
article { background: var(--card); border: 1px solid var(--edge); border-radius: 8px;
  margin: 16px 0 0; padding: 14px 18px 16px; }
header { display: flex; flex-wrap: wrap; gap: 2px 24px; justify-content: space-between; }
.last { white-space: nowrap; } .tables { display: flex; flex-wrap: wrap; gap: 0 36px; }
.slower { color: var(--slower); } .faster { color: var(--faster); }
.plot { display: block; width: 100%; min-width: 640px; height: auto; margin-top: 6px; }
.plot text { font-size: 12px; fill: var(--quiet); } .plot .label { font-weight: 600; }
.plot .slower .label { fill: var(--slower); } .plot .faster .label { fill: var(--faster); }
.grid { stroke: var(--grid); } .axis { stroke: var(--edge); }
.trend { fill: none; stroke: var(--trend); stroke-width: 1.5; }
.interval { stroke: var(--value); stroke-width: 1.5; opacity: .55; }
.spark { display: block; } .newest { fill: var(--value); }
.cut { fill: var(--value); opacity: .55; }
.median { fill: var(--value); } .point:hover .median { stroke: var(--text); stroke-width: 2; }
.level { stroke: var(--level); stroke-width: 2; stroke-dasharray: 1 5; stroke-linecap: round; }
.mark { stroke: currentColor; stroke-width: 1.5; } .band { fill: currentColor; opacity: .1; }
@media print { label { display: none; } article { break-inside: avoid; } }
)";

constexpr std::string_view page_script = R"(
const field = document.getElementById("filter");
const shown = document.getElementById("shown");
const named = [...document.querySelectorAll("[data-name]")];
const plots = named.filter((each) => each.tagName === "ARTICLE");
field.parentElement.hidden = plots.length < 2;
field.addEventListener("input", () => {
  const word = field.value.trim().toLowerCase();
  for (const each of named) each.hidden = !each.dataset.name.toLowerCase().includes(word);
  const left = plots.filter((each) => !each.hidden).length;
  shown.textContent = word ? `${left} of ${plots.length}` : "";
});
)";

/// The beginning of a table. Columns of numbers have a '#' before their names.
std::string table_of(const char* kind,
                     const std::string& caption,
                     std::initializer_list<std::string_view> names) {
  std::string text = fmt::format(R"(<table class="{}">{}<thead><tr>)", kind, caption);
  for (const std::string_view name : names) {
    text += name.starts_with('#')
                ? fmt::format(R"(<th scope="col" class="number">{}</th>)", name.substr(1))
                : fmt::format(R"(<th scope="col">{}</th>)", name);
  }
  return text + "</tr></thead><tbody>\n";
}

constexpr const char* end_of_table = "</tbody></table>";

template <typename Text>
std::string cell(const std::string& kind, const Text& text) {
  return fmt::format(R"(<td class="{}">{}</td>)", kind, text);
}
template <typename Text>
std::string number(const Text& text) {
  return cell("number", text);
}

/// A quiet paragraph. Its arguments are HTML.
template <typename... Values>
std::string quiet(fmt::format_string<Values...> form, Values&&... values) {
  return fmt::format("<p class=\"quiet\">{}</p>\n",
                     fmt::format(form, std::forward<Values>(values)...));
}

/// The values of a number over the commits.
using Values = std::vector<std::optional<double>>;

/// The least and the greatest value; there is one.
Within<double> range_of(const Values& values) {
  Within<double> range{.least = HUGE_VAL, .most = -HUGE_VAL};
  for (const std::optional<double>& value : values) {
    range = {.least = std::min(range.least, value.value_or(range.least)),
             .most = std::max(range.most, value.value_or(range.most))};
  }
  return range;
}

/// Where a value is on a scale from 0 to `size` pixels.
double place_on(std::size_t at, std::size_t count, double size) {
  return size * static_cast<double>(at) / static_cast<double>(std::max<std::size_t>(count, 2) - 1);
}

/// A small chart of a number over time, as high as a line of text. The scale covers the range from
/// the least value to the greatest, but at least a twentieth of the greatest. The line has a gap
/// where a value is missing.
std::string sparkline_of(const Values& values) {
  constexpr double width = 140;  // pixels
  constexpr double height = 18;
  constexpr double margin = 3;
  const auto [least, most] = range_of(values);
  const double size = std::max(std::abs(least), std::abs(most));
  const double range = std::max(size == 0 ? 1 : size / 20, most - least);
  const double lowest = (least + most - range) / 2;
  // Hidden from screen readers: the figures next to the picture have the same information.
  std::string text = fmt::format(
      R"(<svg class="spark" width="{}" height="{}" aria-hidden="true">)", width, height);
  std::string line;
  std::string last;
  for (std::size_t at = 0; at <= values.size(); ++at) {
    if (at < values.size() && values[at]) {
      const double x = margin + place_on(at, values.size(), width - 2 * margin);
      const double y = height - margin - (height - 2 * margin) * (*values[at] - lowest) / range;
      line += fmt::format("{}{:.1f},{:.1f}", line.empty() ? "" : " ", x, y);
      last = fmt::format(R"(<circle class="newest" cx="{:.1f}" cy="{:.1f}" r="2"/>)", x, y);
    } else if (!line.empty()) {
      text += fmt::format(R"(<polyline class="trend" points="{}"/>)", line);
      line.clear();
    }
  }
  return text + last + "</svg>";
}

// In units of the picture, which are pixels unless the picture is scaled down.
constexpr double width = 920;
constexpr double height = 250;
constexpr double left = 70;
constexpr double right = 14;
constexpr double bottom = height - 30;
constexpr double letter = 7;  // the maximum width of our letters, at 12 pixels

const char* kind_of(const ChangePoint& change) {
  return change.ratio > 1 ? "slower" : "faster";
}

std::string name_at(const Series& series, std::size_t index) {
  return html(short_commit(series.points[index].commit.name));
}

std::string commit_text(const Commit& commit) {
  return fmt::format("<code>{}</code> {}", html(short_commit(commit.name)), html(commit.subject));
}

std::string last_time_of(const Series& series) {
  return time_figure(series.points.back().seconds, series.points.back().within);
}

class Plot {
 public:
  explicit Plot(const Series& series) : series_(series), top_(series.changes.empty() ? 32 : 44) {
    const auto [least, most] = std::ranges::minmax(series.points, {}, &Point::seconds);
    least_ = least.seconds;
    most_ = most.seconds;
    // An interval that is much longer than the range of the medians would make them a flat line. On
    // the other hand, noise of 1 % should not look large.
    const double room = std::max(most_ - least_, most_ * 0.05);
    const Within<double> limits{.least = least_ - room, .most = most_ + room};
    for (const Point& point : series.points) {
      least_ = std::max(std::min(least_, point.within.least), limits.least);
      most_ = std::min(std::max(most_, point.within.most), limits.most);
    }
    least_ = std::max(least_ - room * 0.15, 0.0);
    most_ += room * 0.15;
    if (most_ <= least_) {
      most_ = least_ + 1e-9;  // All times are 0.
    }
    unit_ = unit_for(most_);
  }

  std::string draw() {
    add("<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}: {} over {} "
        "commits, "
        "{} of them change points\">\n",
        width,
        height,
        html(series_.benchmark),
        last_time_of(series_),
        series_.points.size(),
        series_.changes.size());
    draw_axes();
    draw_commits();
    draw_levels();
    draw_points();
    draw_changes();
    return text_ + "</svg>\n";
  }

 private:
  using Range = Within<double>;

  template <typename... Values>
  void add(fmt::format_string<Values...> form, Values&&... values) {
    text_ += fmt::format(form, std::forward<Values>(values)...);
  }
  void add_line(const char* kind, const Range& x, const Range& y) {
    add(R"(<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)",
        kind,
        x.least,
        x.most,
        y.least,
        y.most);
  }
  void add_text(const char* kind, double x, double y, const char* anchor, const std::string& text) {
    add(R"(<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)",
        kind,
        x,
        y,
        anchor,
        text);
  }

  double x_of(double index) const {
    const auto steps = static_cast<double>(std::max<std::size_t>(series_.points.size(), 2) - 1);
    const double margin = 12;
    const double middle = series_.points.size() == 1 ? 0.5 : 0;
    return left + margin + (width - left - right - 2 * margin) * (index / steps + middle);
  }
  double x_of(std::size_t index) const { return x_of(static_cast<double>(index)); }

  double y_of(double seconds) const {
    return bottom - (bottom - top_) * (seconds - least_) / (most_ - least_);
  }

  void draw_axes() {
    for (const double tick : ticks_between(least_ / unit_.seconds, most_ / unit_.seconds)) {
      const double y = y_of(tick * unit_.seconds);
      add_line("grid", {left, width - right}, {y, y});
      add_text("tick", left - 8, y + 4, "end", fmt::format("{:.6g}", tick));
    }
    add_text("tick", left - 8, top_ - 16, "end", unit_.name);
    add_line("axis", {left, width - right}, {bottom, bottom});
  }

  /// Draws names of commits below the plot: the first and the last, those with changes, and as many
  /// others as have room.
  void draw_commits() {
    std::vector<std::size_t> wanted = {0, series_.points.size() - 1};
    std::ranges::transform(series_.changes, std::back_inserter(wanted), &ChangePoint::index);
    for (std::size_t i = 0; i < series_.points.size(); ++i) {
      wanted.push_back(i);
    }
    std::vector<Range> taken;
    for (const std::size_t index : wanted) {
      constexpr std::size_t size_max = 16;  // bytes
      std::string name = short_commit(series_.points[index].commit.name);
      for (std::size_t letters = size_max; letters > 0 && name.size() > size_max; --letters) {
        name = fmt::format("{:.{}}", name, letters);
      }
      const double half = static_cast<double>(name.size()) * letter / 2 + 6;
      // At the edges the name moves inwards.
      const double x = std::clamp(x_of(index), half, width - half);
      if (take_room({x - half, x + half}, taken)) {
        add_line("axis", {x_of(index), x_of(index)}, {bottom, bottom + 5});
        add_text("tick commit", x, bottom + 20, "middle", html(name));
      }
    }
  }

  /// False if a part of the room is taken.
  static bool take_room(const Range& room, std::vector<Range>& taken) {
    const bool is_free = std::ranges::none_of(taken, [&](const Range& other) {
      return room.least < other.most && other.least < room.most;
    });
    taken.insert(taken.end(), is_free ? 1 : 0, room);
    return is_free;
  }

  /// Draws the means between change points. Without any, a line would add nothing to the points.
  void draw_levels() {
    for (std::size_t i = 0; i < series_.changes.size(); ++i) {
      const ChangePoint& change = series_.changes[i];
      const std::size_t end = levels_at(series_.changes, i, series_.points.size()).second;
      if (i == 0) {
        draw_level(0, change.index, change.before);
      }
      draw_level(change.index, end, change.after);
    }
  }
  void draw_level(std::size_t begin, std::size_t end, double seconds) {
    add_line("level", {x_of(begin), x_of(end - 1)}, {y_of(seconds), y_of(seconds)});
  }

  void draw_points() {
    std::string line;
    for (std::size_t i = 0; i < series_.points.size(); ++i) {
      line += fmt::format("{:.1f},{:.1f} ", x_of(i), y_of(series_.points[i].seconds));
    }
    add("<polyline class=\"trend\" points=\"{}\"/>\n", line);
    for (std::size_t i = 0; i < series_.points.size(); ++i) {
      const Point& point = series_.points[i];
      const double x = x_of(i);
      add("<g class=\"point\"><title>{} {}\n{}, {} repetitions, load {:.2f}</title>",
          name_at(series_, i),
          html(point.commit.subject),
          time_figure(point.seconds, point.within),
          point.repetitions,
          point.load);
      add_line(
          "interval",
          {x, x},
          {y_of(std::max(point.within.least, least_)), y_of(std::min(point.within.most, most_))});
      if (point.within.most > most_) {
        add(R"(<path class="cut" d="M{:.1f} {} l4 7 h-8 z"/>)", x, top_ - 7);
      }
      if (point.within.least < least_) {
        add(R"(<path class="cut" d="M{:.1f} {} l4 -7 h-8 z"/>)", x, bottom);
      }
      add("<circle class=\"median\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/></g>\n",
          x,
          y_of(point.seconds));
    }
  }

  /// Draws a line between the commits, a band for the other places where the change may be, and how
  /// large it is. A label without room is left out: the table below has all of them.
  void draw_changes() {
    std::vector<Range> rows[2];
    for (const ChangePoint& change : series_.changes) {
      const double x = x_of(static_cast<double>(change.index) - 0.5);
      const double from = x_of(static_cast<double>(change.place.least) - 1);
      add("<g class=\"change {}\"><title>{} at {}</title>"
          "<rect class=\"band\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>",
          kind_of(change),
          change_figure(change.ratio, change.ratio_within),
          name_at(series_, change.index),
          from,
          top_,
          x_of(change.place.most) - from,
          bottom - top_);
      add_line("mark", {x, x}, {top_ - 2, bottom});
      const std::string label =
          fmt::format("{} {}", change.ratio > 1 ? "▲" : "▼", change_figure(change.ratio));
      const double half = static_cast<double>(label.size()) * letter / 2 + 4;
      const double middle = std::clamp(x, left + half, width - right - half);
      for (std::size_t row = 0; row < std::size(rows); ++row) {
        if (take_room({middle - half, middle + half}, rows[row])) {
          add_text("label", middle, top_ - 8 - 17 * static_cast<double>(row), "middle", label);
          break;
        }
      }
      text_ += "</g>\n";
    }
  }

  const Series& series_;
  double top_ = 0;    // above the plot there is room for two rows of labels, if there are any
  double least_ = 0;  // seconds at the bottom and at the top
  double most_ = 0;
  TimeUnit unit_;
  std::string text_;
};

/// An overview of a line: every name, its last value, and its last change.
std::string overview_of(const Line& line, std::size_t section) {
  std::string text =
      R"(<div class="scroll">)" +
      table_of("overview", {}, {"Benchmark", "#Last", "#Commits", "#Changes", "#Last change"});
  std::size_t index = 0;
  for (const Series& series : line.series) {
    const std::string name = html(series.benchmark);
    text += fmt::format(R"(<tr data-name="{}">)", name);
    if (series.points.empty()) {
      text += cell("name", name) +
              fmt::format(R"(<td colspan="4" class="quiet">could not be done: {}</td>)",
                          html(series.error));
    } else {
      text += cell("name", fmt::format("<a href=\"#b{}-{}\">{}</a>", section, index++, name)) +
              number(last_time_of(series)) + number(series.points.size()) +
              number(series.changes.size());
      text += series.changes.empty()
                  ? "<td></td>"
                  : cell(fmt::format("number {}", kind_of(series.changes.back())),
                         change_figure(series.changes.back().ratio));
    }
    text += "</tr>\n";
  }
  return text + end_of_table + "</div>\n";
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
      table_of("changes",
               "<caption>Change points</caption>",
               {"Change", "First commit with it", "After", "May lie in", "#p", "#Load"});
  for (std::size_t i = 0; i < series.changes.size(); ++i) {
    const ChangePoint& change = series.changes[i];
    const auto [begin, end] = levels_at(series.changes, i, series.points.size());
    text +=
        "<tr>" + cell(kind_of(change), change_figure(change.ratio, change.ratio_within)) +
        fmt::format("<td>{}</td><td><code>{}</code></td><td><code>{}</code>..<code>{}</code></td>",
                    commit_text(series.points[change.index].commit),
                    name_at(series, change.index - 1),
                    name_at(series, change.place.least - 1),
                    name_at(series, change.place.most)) +
        number(fmt::format("{:.3g}", change.p)) +
        number(fmt::format("{:.1f}, then {:.1f}",
                           load_between(series, begin, change.index),
                           load_between(series, change.index, end))) +
        "</tr>\n";
  }
  return text + end_of_table + '\n';
}

/// The last value of each counter, its least and greatest value, and its chart.
std::string counters_of(const Series& series) {
  std::map<std::string, Values> all;
  for (std::size_t at = 0; at < series.points.size(); ++at) {
    for (const auto& [name, value] : series.points[at].counters) {
      all.try_emplace(name, series.points.size()).first->second[at] = value;
    }
  }
  if (all.empty()) {
    return {};
  }
  std::string text =
      table_of("counters",
               "<caption>Counters; of a peer: how many times our time it takes</caption>",
               {"Name", "#Last", "#Least", "#Most", "Over the commits"});
  for (const auto& [name, values] : all) {
    const Within<double> range = range_of(values);
    text += "<tr>" + cell("name", html(name)) +
            number(values.back() ? figure(*values.back()) : "none") + number(figure(range.least)) +
            number(figure(range.most)) + "<td>" + sparkline_of(values) + "</td></tr>\n";
  }
  return text + end_of_table + '\n';
}

std::string article_of(const Series& series, std::size_t section, std::size_t index) {
  return fmt::format(
             "<article id=\"b{1}-{2}\" data-name=\"{0}\"><header><h3>{0}</h3>"
             "<p class=\"last\">{3}</p></header>\n",
             html(series.benchmark),
             section,
             index,
             last_time_of(series)) +
         quiet("{} commits, last {}",
               series.points.size(),
               commit_text(series.points.back().commit)) +
         R"(<div class="scroll">)" + plot_of(series) + "</div>" +
         (series.error.empty() ? "" : quiet("Once could not be done: {}", html(series.error))) +
         R"(<div class="tables scroll">)" + changes_of(series) + counters_of(series) +
         "</div></article>\n";
}

std::string section_of(const Line& line, std::size_t section) {
  std::string text = fmt::format("<section><h2>{}</h2>\n", html(program_of(line))) +
                     quiet("{}", html(name_of(line.machine))) + quiet("{}", html(build_of(line))) +
                     overview_of(line, section);
  std::size_t index = 0;
  for (const Series& series : line.series) {
    if (!series.points.empty()) {
      text += article_of(series, section, index++);
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

std::vector<double> ticks_between(double least, double most) {
  const double rough = (most - least) / 5;
  if (!(rough > 0) || !std::isfinite(rough)) {
    return {least};
  }
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough) {
      step = factor * power;
    }
  }
  std::vector<double> ticks;
  const auto first = static_cast<long>(std::ceil(least / step - 1e-9));
  const auto last = static_cast<long>(std::floor(most / step + 1e-9));
  for (long tick = first; tick <= last; ++tick) {
    ticks.push_back(static_cast<double>(tick) * step);
  }
  return ticks;
}

std::string plot_of(const Series& series) {
  return Plot(series).draw();
}

std::string page_of(std::span<const Line> lines, const ChangePointOptions& changes) {
  std::string text = fmt::format("<p>{}</p>\n", span_of(lines));
  text += quiet(
      "A point is the median of the repetitions of a commit; its bar, and what stands in brackets, "
      "is where that lies at {:.0f} %, or all repetitions if they are fewer than six. Of a series "
      "without any change {:.3g} % would be marked; shorter ones than {} commits tell nothing. "
      "Random orders: seed {}.",
      sureness_of_interval * 100,
      changes.p * 100,
      values_min(changes),
      changes.seed);
  text +=
      "<label>Names with<input id=\"filter\" type=\"search\" autocomplete=\"off\"> "
      "<span id=\"shown\" class=\"quiet\" aria-live=\"polite\"></span></label>\n";
  std::size_t section = 0;
  for (const Line& line : lines) {
    text += section_of(line, section++);
  }
  return harness::to_html(harness::Page{.title = "Speed over commits",
                                        .style = page_style,
                                        .body = std::move(text),
                                        .script = page_script});
}

}  // namespace lastref::perf
