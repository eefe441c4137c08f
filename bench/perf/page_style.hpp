// page_style: the style of the page of a history, and its script that filters names.
#pragma once

namespace lastref::perf {

inline constexpr const char* page_style = R"(
:root { color-scheme: light dark; --ground: #ffffff; --card: #ffffff; --edge: #d9dde3;
  --text: #1b1f24; --quiet: #59636e; --grid: #eaedf0; --trend: #b4c3d6; --value: #2f5f97;
  --slower: #b13a24; --faster: #1f7346; --level: #8b95a1; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171b; --card: #1a1e23; --edge: #333a43;
  --text: #e4e8ec; --quiet: #9aa5b1; --grid: #272d34; --trend: #41536a; --value: #8db6e8;
  --slower: #f0917d; --faster: #74cd9c; --level: #717c88; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 28px 24px 64px; max-width: 1010px; background: var(--ground);
  color: var(--text); font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 19px; margin: 40px 0 2px; }
h3 { font-size: 15px; margin: 0; font-weight: 600; overflow-wrap: anywhere; }
p { margin: 2px 0; } .quiet { color: var(--quiet); font-size: 13px; }
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
td.number, th.number { text-align: right; }
td.number, td.slower, td.faster { white-space: nowrap; }
td.name { overflow-wrap: anywhere; min-width: 150px; } .overview { width: 100%; }
article { background: var(--card); border: 1px solid var(--edge); border-radius: 8px;
  margin: 16px 0 0; padding: 14px 18px 16px; }
header { display: flex; flex-wrap: wrap; gap: 2px 24px; justify-content: space-between; }
.last { white-space: nowrap; } .tables { display: flex; flex-wrap: wrap; gap: 0 36px; }
.slower { color: var(--slower); } .faster { color: var(--faster); }
code { font: 12.5px ui-monospace, "DejaVu Sans Mono", monospace; }
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
[hidden] { display: none !important; }
@media print { label { display: none; } article { break-inside: avoid; } }
)";

inline constexpr const char* page_script = R"(
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

}  // namespace lastref::perf
