#include "harness/report/heat_map.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/platform/names.hpp"
#include "harness/report/html.hpp"

namespace lastref::harness {

const std::string_view heat_map_style = R"(
:root { --clean: #2b7a50; --clean-ground: #e2f2e9; --finding: #ffffff; --finding-ground: #b3261e;
  --known: #6b4700; --known-ground: #f6e3b8; --stripe: #e3e7ec; --open: #9aa4b0;
  --card: #f7f8fa; }
@media (prefers-color-scheme: dark) { :root { --clean: #7fcf9f; --clean-ground: #1b3327;
  --finding: #23100d; --finding-ground: #f2897b; --known: #f3cf86; --known-ground: #463714;
  --stripe: #2a3037; --open: #6c7783; --card: #1a1e23; } }
.key { display: flex; flex-wrap: wrap; gap: 6px 22px; margin: 10px 0 0; padding: 0;
  list-style: none; font-size: 13px; color: var(--quiet); }
.key li { display: flex; align-items: center; gap: 8px; }
.tile { display: inline-block; width: 26px; height: 24px; border-radius: 5px; text-align: center;
  font-size: 12px; line-height: 24px; font-weight: 600; }
.tile a { display: block; color: inherit; text-decoration: none; border-radius: inherit; }
.tile.clean { color: var(--clean); background: var(--clean-ground); }
.tile.finding { color: var(--finding); background: var(--finding-ground); }
.tile.known { color: var(--known); background: var(--known-ground); }
.tile.not_injected { color: var(--quiet); background: repeating-linear-gradient(135deg,
  var(--stripe) 0 3px, transparent 3px 6px); }
.tile.not_tried { border: 1.5px dashed var(--open); }
.story { margin: 36px 0 0; } .story h3 { margin: 0; font-size: 16px; overflow-wrap: anywhere; }
.map { border-collapse: separate; border-spacing: 0; table-layout: fixed; margin: 8px 0 0;
  width: min(100%, 740px + var(--faults) * 32px); }
.map col.role { width: 88px; } .map col.call { width: 132px; } .map col.fault { width: 32px; }
.map thead th { position: sticky; top: var(--bar); z-index: 1; background: var(--ground);
  padding: 8px 12px 6px 0; border-bottom: 1px solid var(--edge); text-align: left;
  vertical-align: bottom; font-size: 13px; font-weight: 600; color: var(--quiet); }
.map thead th.fault { padding: 8px 0 6px; text-align: center; }
.map thead th.fault span { display: inline-block; max-height: 104px; overflow: hidden;
  white-space: nowrap; writing-mode: vertical-rl; transform: rotate(180deg); line-height: 26px;
  font: 12px/26px ui-monospace, "DejaVu Sans Mono", monospace; }
.map tbody tr { height: 30px; } .map tbody tr.gap { height: 0; } .map tr.gap td { padding: 0; }
.map tbody th, .map tbody td.name { padding: 0 12px 0 0; overflow: hidden; white-space: nowrap;
  text-overflow: ellipsis; text-align: left; font-weight: 400; }
.map tbody td.role { color: var(--quiet); }
.map tbody td.fault { padding: 3px; line-height: 0; }
.map tbody th { direction: rtl; } .map tbody th code { direction: ltr; }
.map tbody tr:hover > * { background: var(--card); }
@media (max-width: 900px) { .scroll { overflow-x: auto; } .map { min-width: 900px; }
  .map thead th { position: static; } }
@media print { .map thead th { position: static; } }
)";

const std::string_view heat_map_script = R"(
const { findings, stories } = JSON.parse(document.getElementById("data").textContent);
const ROW = 30;  // The height of a row, in pixels
const AROUND = 12;  // Rows that are drawn above and below those in sight
const OUTCOMES = { c: ["clean", "•"], i: ["not_injected", "–"], t: ["not_tried", ""] };

const make = (kind, name, text = "") => {
  const made = document.createElement(kind);
  made.className = name;
  made.textContent = text;
  return made;
};

const tileOf = (cell, what) => {
  const tile = make("span", "tile");
  if (Array.isArray(cell)) {
    const all = cell.map((number) => findings[number - 1]);
    const link = make("a", "", cell.length > 1 ? cell[0] + "+" : cell[0]);
    link.href = "#finding-" + cell[0];
    tile.append(link);
    tile.classList.add(all.every((each) => each.known) ? "known" : "finding");
    tile.title = what + ": " + all.map((each) => each.claim).join("; ");
    link.setAttribute("aria-label", tile.title);
  } else {
    tile.classList.add(OUTCOMES[cell][0]);
    tile.textContent = OUTCOMES[cell][1];
    tile.title = what + ": " + OUTCOMES[cell][0].replace("_", " ");
    tile.setAttribute("role", "img");
    tile.setAttribute("aria-label", tile.title);
  }
  return tile;
};

class HeatMap {
  constructor(story, section) {
    this.faults = story.faults;
    this.section = section;
    this.body = section.querySelector("tbody");
    this.above = this.body.rows[0];
    this.below = this.body.rows[1];
    this.all = story.rows.map(([role, call, object, k, cells]) => ({ role, call, object, k, cells,
      text: this.textOf(story.name, `${role}/${call}(${object})#${k}`, cells) }));
    this.drawn = new Map();
    this.filter("");
  }

  textOf(story, point, cells) {
    const words = new Set();
    cells.forEach((cell, at) => {
      if (cell === 0) return;
      words.add(this.faults[at]);
      if (!Array.isArray(cell)) { words.add(OUTCOMES[cell][0].replace("_", " ")); return; }
      for (const number of cell) {
        const { claim, fingerprint, known } = findings[number - 1];
        words.add(known ? "known" : "finding").add(claim).add(fingerprint);
      }
    });
    return [story, point, ...words].join("\n").toLowerCase();
  }

  filter(word) {
    this.rows = word ? this.all.filter((row) => row.text.includes(word)) : this.all;
    this.section.hidden = this.rows.length === 0;
    for (const row of this.drawn.values()) row.remove();
    this.drawn.clear();
  }

  draw(everything) {
    if (this.section.hidden) return;
    const top = this.body.getBoundingClientRect().top;
    const within = (row) => Math.min(Math.max(row, 0), this.rows.length);
    const first = everything ? 0 : within(Math.floor(-top / ROW) - AROUND);
    const last = everything ? this.rows.length
      : within(Math.ceil((innerHeight - top) / ROW) + AROUND);
    for (const [at, row] of this.drawn) {
      if (at < first || at >= last) { row.remove(); this.drawn.delete(at); }
    }
    let next = this.above.nextSibling;
    for (let at = first; at < last; ++at) {
      const row = this.drawn.get(at) ?? this.rowOf(this.rows[at]);
      if (!this.drawn.has(at)) { this.drawn.set(at, row); this.body.insertBefore(row, next); }
      next = row.nextSibling;
    }
    this.above.style.height = ROW * first + "px";
    this.below.style.height = ROW * (this.rows.length - Math.max(first, last)) + "px";
  }

  rowOf({ role, call, object, k, cells }) {
    const row = make("tr", "");
    const point = `${role}/${call}(${object})#${k}`;
    row.append(this.nameOf("td", "role", role), this.nameOf("td", "call", `${call} #${k}`),
      this.nameOf("th", "object", object));
    row.lastChild.scope = "row";
    cells.forEach((cell, at) => {
      const place = make("td", "fault");
      if (cell !== 0) place.append(tileOf(cell, `${point} ${this.faults[at]}`));
      row.append(place);
    });
    return row;
  }

  nameOf(kind, name, text) {
    const cell = make(kind, "name " + name);
    cell.append(make("code", "", text));
    cell.title = text;
    return cell;
  }
}

const sections = [...document.querySelectorAll(".story")];
const maps = stories.map((story, at) => new HeatMap(story, sections[at]));
const points = maps.reduce((sum, map) => sum + map.all.length, 0);
const drawMaps = (everything) => maps.forEach((map) => map.draw(everything === true));
const filterMaps = (word) => {
  maps.forEach((map) => map.filter(word));
  drawMaps();
  return [maps.reduce((sum, map) => sum + map.rows.length, 0), points];
};
let isDue = false;
const drawSoon = () => {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => { isDue = false; drawMaps(); });
};
addEventListener("scroll", drawSoon, { passive: true });
addEventListener("resize", drawSoon);
addEventListener("beforeprint", () => drawMaps(true));
drawMaps();
)";

namespace {

using Json = nlohmann::ordered_json;

/// The finding's numbers of a cell, by their fingerprints
using Numbers = std::map<std::string, std::size_t>;

constexpr int not_planned = 0;  ///< For the script

/// The part of a fault's text that differs between the columns: "ENOSPC", "sigint tree"
std::string column_of(std::string fault) {
  for (const std::string_view start : {"fail_once ", "send_"}) {
    fault.erase(0, fault.starts_with(start) ? start.size() : 0);
  }
  constexpr std::string_view tree = "whole_tree";
  const std::size_t at = fault.find(tree);
  return at == std::string::npos ? fault : fault.replace(at, tree.size(), "tree");
}

Json to_json(const SweepCell& cell, const Numbers& numbers) {
  switch (cell.outcome) {
    case SweepCell::Outcome::not_tried:
      return "t";
    case SweepCell::Outcome::not_injected:
      return "i";
    case SweepCell::Outcome::clean:
      return "c";
    case SweepCell::Outcome::finding:
      break;
  }
  std::set<std::size_t> all;
  for (const std::string& each : cell.fingerprints) {
    if (const auto found = numbers.find(each); found != numbers.end()) {
      all.insert(found->second);
    }
  }
  return all;
}

std::vector<std::string> faults_of(const SweepMap& map) {
  std::set<std::string> faults;
  std::ranges::for_each(map.cells, [&](const SweepCell& each) { faults.insert(each.fault); });
  return {faults.begin(), faults.end()};
}

/// A row has the point, and a value for each fault.
Json rows_of(const SweepMap& map, const std::vector<std::string>& faults, const Numbers& numbers) {
  std::map<std::tuple<std::string, std::string, std::string, std::uint64_t>, std::size_t> places;
  Json rows = Json::array();
  for (const SweepCell& each : map.cells) {
    const auto [place, is_new] =
        places.try_emplace({each.role, each.call, each.object, each.k}, rows.size());
    if (is_new) {
      rows.push_back({visible(each.role),
                      visible(each.call),
                      visible(each.object),
                      each.k,
                      Json(faults.size(), not_planned)});
    }
    const auto column = std::ranges::lower_bound(faults, each.fault) - faults.begin();
    rows[place->second][4][static_cast<std::size_t>(column)] = to_json(each, numbers);
  }
  return rows;
}

std::string table_of(const SweepMap& map, const std::vector<std::string>& faults) {
  const OutcomeCounts counts = counts_of(map);
  std::string text = fmt::format(
      "<section class=\"story\"><h3>{}</h3>\n<p class=\"quiet\">{}: {} clean, {} with findings, {} "
      "not injected, {} not tried</p>\n<div class=\"scroll\"><table class=\"map\" "
      "style=\"--faults: {}\"><colgroup>"
      "<col class=\"role\"><col class=\"call\"><col>",
      html(map.program),
      counted(counts.cells, "cell"),
      counts.clean,
      counts.findings,
      counts.not_injected,
      counts.not_tried,
      faults.size());
  for (std::size_t at = 0; at < faults.size(); ++at) {
    text += "<col class=\"fault\">";
  }
  text +=
      "</colgroup><thead><tr><th scope=\"col\">Process</th><th scope=\"col\">Call</th>"
      "<th scope=\"col\">Object</th>";
  for (const std::string& each : faults) {
    text += fmt::format("<th class=\"fault\" scope=\"col\" title=\"{}\"><span>{}</span></th>",
                        html(each),
                        html(column_of(each)));
  }
  const std::string gap =
      fmt::format("<tr class=\"gap\"><td colspan=\"{}\"></td></tr>", faults.size() + 3);
  return text + "</tr></thead><tbody>" + gap + gap + "</tbody></table></div></section>\n";
}

Json data_of_findings(const Report& report) {
  Json findings = Json::array();
  for (const auto* const groups : {&report.groups, &report.known}) {
    for (const ViolationGroup& each : *groups) {
      findings.push_back({{"claim", visible(each.claim)},
                          {"fingerprint", visible(each.fingerprint)},
                          {"known", groups == &report.known}});
    }
  }
  return findings;
}

Numbers numbers_of(const Report& report, const std::string& program) {
  Numbers numbers;
  std::size_t number = 0;
  for (const auto* const groups : {&report.groups, &report.known}) {
    for (const ViolationGroup& each : *groups) {
      ++number;
      if (each.scenario == program) {
        numbers.try_emplace(each.fingerprint, number);
      }
    }
  }
  return numbers;
}

/// Inside a script element, "<" could end it.
std::string to_script(const Json& json) {
  std::string text;
  for (const char each : json.dump()) {
    text += each == '<' ? "\\u003c" : std::string(1, each);
  }
  return text;
}

}  // namespace

OutcomeCounts counts_of(const SweepMap& map) {
  OutcomeCounts counts{.cells = map.cells.size()};
  for (const SweepCell& each : map.cells) {
    switch (each.outcome) {
      case SweepCell::Outcome::not_tried:
        ++counts.not_tried;
        break;
      case SweepCell::Outcome::not_injected:
        ++counts.not_injected;
        break;
      case SweepCell::Outcome::clean:
        ++counts.clean;
        break;
      case SweepCell::Outcome::finding:
        ++counts.findings;
        break;
    }
  }
  return counts;
}

std::string heat_maps_of(const Report& report) {
  std::string text;
  Json stories = Json::array();
  for (const SweepMap& map : report.maps) {
    const std::vector<std::string> faults = faults_of(map);
    text += table_of(map, faults);
    Json names = Json::array();
    std::ranges::for_each(faults, [&](const std::string& each) { names.push_back(visible(each)); });
    stories.push_back({{"name", visible(map.program)},
                       {"faults", std::move(names)},
                       {"rows", rows_of(map, faults, numbers_of(report, map.program))}});
  }
  if (text.empty()) {
    return text;
  }
  return "<h2 id=\"map\">Points and faults</h2>\n"
         "<ul class=\"key\"><li><span class=\"tile clean\">•</span>clean</li>"
         "<li><span class=\"tile finding\">1</span>finding, with its number</li>"
         "<li><span class=\"tile known\">2</span>known finding</li>"
         "<li><span class=\"tile not_injected\">–</span>not injected</li>"
         "<li><span class=\"tile not_tried\"></span>not tried</li>"
         "<li>no tile: the fault is not planned there</li></ul>\n"
         "<noscript><p>A script draws the cells.</p></noscript>\n" +
         text +
         fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n",
                     to_script({{"findings", data_of_findings(report)}, {"stories", stories}}));
}

}  // namespace lastref::harness
