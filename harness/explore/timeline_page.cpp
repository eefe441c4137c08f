// The page of a timeline. It has no script, and loads nothing.
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "harness/explore/timeline.hpp"
#include "harness/platform/names.hpp"
#include "harness/report/html.hpp"

namespace lastref::harness {
namespace {

constexpr std::string_view timeline_style = R"(
:root { --head: #f2f4f7; --race: #e3edfa; --turn: #8a4b00; --turn-ground: #fdf0dd;
  --fault: #a3220f; --fault-ground: #fde7e3; --finding: #ffffff; --finding-ground: #a3220f; }
@media (prefers-color-scheme: dark) { :root { --head: #1e2329; --race: #1c2d44; --turn: #f3bd72;
  --turn-ground: #35290f; --fault: #f49d8c; --fault-ground: #3d1d18; --finding: #14171b;
  --finding-ground: #f49d8c; } }
body { margin: 0; padding: 24px; font-size: 14px; }
h1 { font-size: 22px; margin: 0 0 6px; }
p, ul { margin: 4px 0; max-width: 110ch; overflow-wrap: anywhere; }
td, .key span { font: 12.5px/1.4 ui-monospace, "DejaVu Sans Mono", monospace; }
.key span { padding: 1px 6px; margin-right: 6px; border-radius: 3px; }
table { border-collapse: separate; border-spacing: 0; margin: 16px 0; }
th { position: sticky; top: 0; z-index: 1; background: var(--head); text-align: left;
  border-bottom: 2px solid var(--edge); }
th, td { padding: 3px 10px; vertical-align: top; border-right: 1px solid var(--edge);
  min-width: 12ch; max-width: 44ch; overflow-wrap: anywhere; }
td.number, th.number { min-width: 0; color: var(--quiet); }
tr.turn td { border-top: 1px dashed var(--turn); }
.race { background: var(--race); }
.turn .mark { color: var(--turn); background: var(--turn-ground); }
.key .turn { color: var(--turn); background: var(--turn-ground); }
.operation .mark, .event .mark, .gap td { color: var(--quiet); }
.fault .mark, .key .fault { color: var(--fault); background: var(--fault-ground); }
.finding .mark, .key .finding, li.finding { color: var(--finding);
  background: var(--finding-ground); font-weight: 600; }
.after { padding: 0; list-style: none; } li.finding { padding: 4px 10px; margin: 2px 0; }
@media print { th { position: static; } }
)";

std::string_view class_of(const TimelineRow& row) {
  switch (row.kind) {
    case TimelineRow::Kind::step:
      return "step";
    case TimelineRow::Kind::operation:
      return "operation";
    case TimelineRow::Kind::turn:
      return "turn";
    case TimelineRow::Kind::event:
      return "event";
    case TimelineRow::Kind::finding:
      return "finding";
    case TimelineRow::Kind::gap:
      return "gap";
  }
  return "";
}

std::string row_of(const TimelineRow& row, std::size_t number, std::size_t columns) {
  if (row.kind == TimelineRow::Kind::gap) {
    return fmt::format(
        "<tr class=\"gap\"><td class=\"number\"></td><td colspan=\"{}\">{}</td></tr>\n",
        columns,
        html(row.text));
  }
  std::string text = fmt::format("<tr class=\"{}{}\"><td class=\"number\">{}</td>",
                                 class_of(row),
                                 row.is_fault ? " fault" : "",
                                 number);
  for (std::size_t column = 0; column < columns; ++column) {
    if (column == row.actor) {
      text +=
          fmt::format("<td class=\"mark{}\">{}</td>", row.is_race ? " race" : "", html(row.text));
    } else if (column == row.to) {
      text += "<td class=\"mark\">runs</td>";
    } else {
      text += "<td></td>";
    }
  }
  return text + "</tr>\n";
}

std::string html_list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& each : names) {
    text += fmt::format("{}<code>{}</code>", text.empty() ? "" : ", ", html(each));
  }
  return text;
}

}  // namespace

std::string to_html(const Timeline& timeline,
                    const std::string& title,
                    const std::string& command) {
  std::string text =
      fmt::format("<p><code>{}</code></p>\n<p>{}; {}</p>\n",
                  html(command),
                  counted(timeline.switches, "switch", "es"),
                  timeline.objects.empty() ? "no object is raced for"
                                           : "raced for: " + html_list_of(timeline.objects));
  if (!timeline.others.empty()) {
    text += "<p class=\"quiet\">Not shown: " + html_list_of(timeline.others) + "</p>\n";
  }
  text +=
      "<p class=\"key\"><span class=\"race\">on an object that is raced for</span>"
      "<span class=\"turn\">switch</span><span class=\"fault\">fault</span>"
      "<span class=\"finding\">finding</span></p>\n"
      "<table><thead><tr><th class=\"number\" scope=\"col\">#</th>";
  for (const std::string& each : timeline.actors) {
    text += fmt::format("<th class=\"actor\" scope=\"col\">{}</th>", html(each));
  }
  text += "</tr></thead><tbody>\n";
  std::size_t number = 0;
  for (const TimelineRow& row : timeline.rows) {
    number += row.kind == TimelineRow::Kind::gap ? 0 : 1;
    text += row_of(row, number, timeline.actors.size());
  }
  text += "</tbody></table>\n";
  if (!timeline.findings.empty()) {
    text += "<p>After the run:</p>\n<ul class=\"after\">\n";
    for (const Finding& each : timeline.findings) {
      text += fmt::format("<li class=\"finding\">{}{}{}</li>\n",
                          html(each.claim),
                          each.seen.empty() ? "" : ": ",
                          html(each.seen));
    }
    text += "</ul>\n";
  }
  return to_html(Page{.title = title, .style = timeline_style, .body = std::move(text)});
}

}  // namespace lastref::harness
