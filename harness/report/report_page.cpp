#include "harness/report/report_page.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/platform/names.hpp"
#include "harness/report/heat_map.hpp"
#include "harness/report/html.hpp"
#include "harness/report/json_members.hpp"
#include "harness/report/lanes.hpp"

namespace lastref::harness {
namespace {

/// Of one finding; the JSON has all.
constexpr std::size_t examples_max = 20;

constexpr std::string_view report_style = R"(
:root { --bar: 58px; --accent: #2f5f97; --bad: #a3220f; --good: #1f7346; }
@media (prefers-color-scheme: dark) { :root { --accent: #8db6e8; --bad: #f49d8c;
  --good: #7fcf9f; } }
html { scroll-padding-top: calc(var(--bar) + 14px); }
body { margin: 0 auto; padding: 44px 32px 96px; max-width: 1180px; }
h1 { font-size: 28px; font-weight: 650; letter-spacing: -.01em; margin: 0 0 8px; }
h2 { font-size: 20px; margin: 52px 0 0; }
p { margin: 4px 0; overflow-wrap: anywhere; } a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.verdict { font-size: 17px; } .verdict strong { margin-right: 10px; }
.bad { color: var(--bad); } .good { color: var(--good); }
.counts { display: flex; flex-wrap: wrap; gap: 18px 48px; margin: 30px 0 0; }
.counts div { display: flex; flex-direction: column-reverse; }
.counts dt { color: var(--quiet); font-size: 13px; }
.counts dd { margin: 0; font-size: 27px; line-height: 1.2; font-weight: 600; }
.bar { position: sticky; top: 0; z-index: 2; display: flex; align-items: center; gap: 16px;
  height: var(--bar); margin: 26px -32px 0; padding: 0 32px; background: var(--ground); }
.bar input { font: inherit; color: inherit; width: 360px; max-width: 60%; padding: 6px 12px;
  background: var(--ground); border: 1px solid var(--open); border-radius: 7px; }
.bar .quiet { font-size: 13px; }
.bar + h2 { margin-top: 22px; }
article { display: grid; grid-template-columns: 30px minmax(0, 1fr); gap: 0 16px;
  margin: 16px 0 0; padding: 20px 24px 20px 20px; background: var(--card); border-radius: 12px;
  content-visibility: auto; contain-intrinsic-size: auto 190px; }
article:target { box-shadow: 0 0 0 2px var(--accent); }
article h3 { margin: 0; font-size: 16px; line-height: 24px; overflow-wrap: anywhere; }
article .seen { margin: 8px 0 0; white-space: pre-line; }
article .seen + .quiet { white-space: pre-line; font-size: 13px; }
article pre { margin: 8px 0 0; overflow-x: auto; font: 12.5px/1.5 ui-monospace,
  "DejaVu Sans Mono", monospace; }
.facts { display: flex; flex-wrap: wrap; gap: 2px 24px; margin-top: 8px; font-size: 13px;
  color: var(--quiet); }
.note { margin-top: 8px; padding: 1px 9px; border-radius: 5px; width: fit-content;
  color: var(--known); background: var(--known-ground); font-size: 13px; }
.again { display: flex; align-items: start; gap: 10px; margin-top: 14px; }
.again code { flex: 1; padding: 7px 12px; background: var(--ground); border-radius: 7px;
  overflow-wrap: anywhere; white-space: pre-wrap; max-height: 8.6em; overflow-y: auto; }
button { font: inherit; font-size: 13px; line-height: 20px; padding: 6px 14px; cursor: pointer;
  color: var(--accent); background: var(--ground); border: 1px solid var(--edge);
  border-radius: 7px; white-space: nowrap; }
button:hover { border-color: currentColor; }
button.in_map { padding: 0; border: 0; background: none; line-height: inherit; }
details { margin: 52px 0 0; } details.run { margin: 14px 0 0; font-size: 13px; }
summary { cursor: pointer; color: var(--quiet); }
details pre { white-space: pre-wrap; overflow-wrap: anywhere; font: 12.5px/1.5 ui-monospace,
  "DejaVu Sans Mono", monospace; }
@media print { .bar, button { display: none; } article { break-inside: avoid; } }
)";

constexpr std::string_view report_script = R"(
const field = document.getElementById("filter");
const shown = document.getElementById("shown");
const cards = [...document.querySelectorAll("article")];
const texts = cards.map((card) => card.textContent.toLowerCase());
const filter = () => {
  const word = field.value.trim().toLowerCase();
  cards.forEach((card, at) => { card.hidden = !texts[at].includes(word); });
  const found = cards.filter((card) => !card.hidden).length;
  const [rows, all] = typeof filterMaps === "undefined" ? [0, 0] : filterMaps(word);
  shown.textContent = word ? `${found} of ${cards.length} findings`
    + (all > 0 ? `, ${rows} of ${all} points` : "") : "";
};
field.addEventListener("input", filter);
addEventListener("click", ({ target }) => {
  if (target.matches("a[href^='#finding-']") && document.querySelector(target.hash)?.hidden) {
    field.value = "";
    filter();
  } else if (target.matches("button.in_map")) {
    field.value = target.value;
    filter();
    document.getElementById("map").scrollIntoView();
  } else if (target.matches("button.copy")) {
    const command = target.previousElementSibling;
    getSelection().selectAllChildren(command);
    const says = (text) => { target.textContent = text; };
    const done = navigator.clipboard?.writeText(command.textContent);
    done ? done.then(() => says("Copied"), () => says("Selected")) : says("Selected");
  }
});
)";

std::string title_of(const Report& report) {
  if (!report.source.empty()) {
    return report.source;
  }
  return report.cases.size() == 1 ? report.cases.front().name : "lastref " + report.verb;
}

std::string number_of(std::string_view name, std::size_t number) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", name, fmt::group_digits(number));
}

using Json = nlohmann::ordered_json;

const Json& fields_of(const Report& report) {
  static const Json none;
  return report.fields ? *report.fields : none;
}

/// Of a gate or a hunt; 0: of another report.
std::size_t scenarios_of(const Report& report) {
  const Json& scenarios = member_of(fields_of(report), "scenarios");
  return scenarios.is_number_integer() ? scenarios.get<std::size_t>() : scenarios.size();
}

std::string summary_of(const Report& report) {
  std::string text = fmt::format(
      "<p class=\"verdict\"><strong class=\"{}\">{}</strong>{}</p>\n"
      "<p class=\"quiet\">lastref {}; exit {}; {:.1f} s</p>\n<dl class=\"counts\">",
      report.exit == Exit::clean ? "good" : "bad",
      report.exit == Exit::clean       ? "Clean"
      : report.exit == Exit::violation ? "Findings"
                                       : "No verdict",
      report.verdict == "clean" ? "" : html(report.verdict),
      html(report.verb),
      static_cast<int>(report.exit),
      report.seconds);
  const auto plural = [](std::size_t number, const char* one, const char* many) {
    return number == 1 ? one : many;
  };
  text += number_of(plural(report.groups.size(), "finding", "findings"), report.groups.size());
  if (!report.known.empty()) {
    text += number_of(plural(report.known.size(), "known finding", "known findings"),
                      report.known.size());
  }
  if (const std::size_t scenarios = scenarios_of(report); scenarios > 0) {
    text += number_of(plural(scenarios, "scenario", "scenarios"), scenarios);
    const Json& runs = member_of(fields_of(report), "runs");
    text += number_of("runs", runs.is_number_integer() ? runs.get<std::size_t>() : 0);
  } else if (report.cases.size() > 1) {
    text += number_of("stories", report.cases.size());
  }
  OutcomeCounts all;
  for (const SweepMap& each : report.maps) {
    const OutcomeCounts counts = counts_of(each);
    all.cells += counts.cells;
    all.not_injected += counts.not_injected;
    all.not_tried += counts.not_tried;
  }
  if (!report.maps.empty()) {
    text += number_of(plural(all.cells, "cell", "cells"), all.cells) +
            number_of("tried", all.cells - all.not_tried) +
            number_of("not injected", all.not_injected) + number_of("not tried", all.not_tried);
  }
  return text + "</dl>\n";
}

/// The first line is what was seen, the others are about it.
std::string seen_of(const std::string& seen) {
  const std::size_t end = std::min(seen.find('\n'), seen.size());
  std::string text =
      fmt::format("<p class=\"seen\">{}</p>", html(std::string_view(seen).substr(0, end)));
  if (end < seen.size()) {
    text += fmt::format("<p class=\"quiet\">{}</p>", html(std::string_view(seen).substr(end + 1)));
  }
  return text;
}

std::string again_of(const std::string& command) {
  return command.empty() ? ""
                         : fmt::format(
                               "<div class=\"again\"><code>{}</code>"
                               "<button class=\"copy\" type=\"button\">Copy</button></div>",
                               html(command));
}

std::string example_of(const Violation& violation) {
  std::string text = seen_of(violation.seen);
  if (!violation.repeats) {
    text += "<p class=\"quiet\">A repetition did not show it.</p>";
  }
  if (!violation.last_crossings.empty()) {
    text += "<pre>";
    for (const std::string& each : violation.last_crossings) {
      text += html(each) + '\n';
    }
    text += "</pre>";
  }
  return violation.timeline.empty() ? text : text + "<pre>" + html(violation.timeline) + "</pre>";
}

/// Examples that one command repeats have it once, after the last of them.
std::string examples_of(const ViolationGroup& group) {
  std::string text;
  const std::size_t shown = std::min(group.first.size(), examples_max);
  for (std::size_t at = 0; at < shown; ++at) {
    const std::string& command = group.first[at].replay;
    text += example_of(group.first[at]);
    text += at + 1 < shown && group.first[at + 1].replay == command ? "" : again_of(command);
  }
  const std::size_t all = std::max(group.count, group.first.size());
  if (all > shown) {
    text += fmt::format("<p class=\"quiet\">and {} more</p>", all - shown);
  }
  return text;
}

bool is_in(const std::vector<SweepMap>& maps, const ViolationGroup& group) {
  return !group.fingerprint.empty() &&
         std::ranges::find(maps, group.scenario, &SweepMap::program) != maps.end();
}

/// That of a run that shows the finding. A suite has the fields of each story.
const Json& timeline_of(const Report& report, const ViolationGroup& group) {
  const Json& fields = fields_of(report);
  for (const Json& each : list_of(fields, "stories")) {
    if (text_of(each, "story") == group.scenario) {
      return list_of(member_of(each, "timelines"), group.fingerprint.c_str());
    }
  }
  return list_of(member_of(fields, "timelines"), group.fingerprint.c_str());
}

std::string card_of(const Report& report,
                    const ViolationGroup& group,
                    std::size_t number,
                    bool is_known) {
  std::string facts =
      report.cases.size() == 1 ? "" : fmt::format("<span>{}</span>", html(group.scenario));
  if (!group.label.empty()) {
    facts += fmt::format("<span>{}</span>", html(group.label));
  }
  if (!group.fingerprint.empty()) {
    facts += fmt::format("<span>fingerprint <code>{}</code></span>", html(group.fingerprint));
  }
  if (is_in(report.maps, group)) {
    facts += fmt::format(
        "<button class=\"in_map\" type=\"button\" value=\"{}\">show its points</button>",
        html(group.fingerprint));
  }
  std::string lanes = lanes_of(timeline_of(report, group));
  if (!lanes.empty()) {
    lanes =
        "<details class=\"run\"><summary>Calls of the processes</summary>" + lanes + "</details>";
  }
  return fmt::format(
      "<article id=\"finding-{0}\"><span class=\"tile {1}\">{0}</span><div><h3>{2}</h3>\n"
      "<div class=\"facts\">{3}</div>{4}\n{5}{6}</div></article>\n",
      number,
      is_known ? "known" : "finding",
      html(group.claim),
      facts,
      group.note.empty() ? "" : fmt::format("<p class=\"note\">{}</p>", html(group.note)),
      examples_of(group),
      lanes);
}

std::string findings_of(const Report& report) {
  std::string text;
  std::size_t number = 0;
  for (const ViolationGroup& each : report.groups) {
    text += card_of(report, each, ++number, false);
  }
  for (const ViolationGroup& each : report.known) {
    text += card_of(report, each, ++number, true);
  }
  return text.empty() ? text : "<h2>Findings</h2>\n" + text;
}

/// Plans with two different runs, and programs without a verdict.
std::string failures_of(const Report& report) {
  std::string text;
  for (const Difference& each : report.differences) {
    text += fmt::format("<p><strong>not deterministic</strong> {}: {}</p>{}\n",
                        html(each.scenario),
                        html(each.seen),
                        again_of(each.replay));
  }
  for (const ReportCase& each : report.cases) {
    if (!each.error.empty() && each.error != report.verdict) {
      text += fmt::format("<p><strong>{}</strong> {}</p>\n", html(each.name), html(each.error));
    }
  }
  return text.empty() ? text : "<h2>Without a verdict</h2>\n" + text;
}

}  // namespace

std::string to_html(const Report& report) {
  static const std::string style = fmt::format("{}{}{}", heat_map_style, lanes_style, report_style);
  const std::string maps = heat_maps_of(report);
  const std::string findings = findings_of(report);
  std::string body = summary_of(report);
  if (!maps.empty() || !findings.empty()) {
    body +=
        "<div class=\"bar\"><input id=\"filter\" type=\"search\" autocomplete=\"off\" "
        "placeholder=\"Filter by text\" aria-label=\"Filter findings and points by text\">"
        "<span id=\"shown\" class=\"quiet\" aria-live=\"polite\"></span></div>\n";
  }
  body += findings + failures_of(report) + maps;
  if (const std::string lanes = lanes_of(list_of(fields_of(report), "timeline")); !lanes.empty()) {
    body += "<h2>Calls of the processes</h2>\n" + lanes;
  }
  if (const std::string notes = report.before + report.after; !notes.empty()) {
    // Those of a gate or a hunt are its tables.
    body +=
        fmt::format("<details{}><summary>Notes of the report</summary><pre>{}</pre></details>\n",
                    scenarios_of(report) > 0 ? " open" : "",
                    html(notes));
  }
  const std::string script =
      fmt::format("{}{}", maps.empty() ? std::string_view() : heat_map_script, report_script);
  const bool has_bar = !maps.empty() || !findings.empty();
  return to_html(Page{.title = title_of(report),
                      .style = style,
                      .body = std::move(body),
                      .script = has_bar ? std::string_view(script) : std::string_view()});
}

}  // namespace lastref::harness
