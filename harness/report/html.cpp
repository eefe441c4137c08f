#include "harness/report/html.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "harness/report/junit.hpp"

namespace lastref::harness {
namespace {

constexpr std::string_view style_of_all = R"(
:root { color-scheme: light dark; --ground: #ffffff; --edge: #d9dde3; --text: #1b1f24;
  --quiet: #59636e; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171b; --edge: #333a43;
  --text: #e4e8ec; --quiet: #9aa5b1; } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { background: var(--ground); color: var(--text);
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums; }
h1 { line-height: 1.25; overflow-wrap: anywhere; }
code { font: 12.5px/1.4 ui-monospace, "DejaVu Sans Mono", monospace; unicode-bidi: isolate; }
.quiet { color: var(--quiet); }
td.number, th.number { text-align: right; white-space: nowrap; }
)";

}  // namespace

std::string visible(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t size = size_in_xml(text);
    if (size == 0) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else {
      shown += text.substr(0, size);
    }
    text.remove_prefix(std::max(size, std::size_t{1}));
  }
  return shown;
}

std::string html(std::string_view text) {
  constexpr std::array<std::pair<char, std::string_view>, 5> escapes = {
      {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}}};
  std::string shown;
  for (const char each : visible(text)) {
    const auto* const escape =
        std::ranges::find(escapes, each, &decltype(escapes)::value_type::first);
    if (escape == escapes.end()) {
      shown += each;
    } else {
      shown += escape->second;
    }
  }
  return shown;
}

std::string to_html(const Page& page) {
  const std::string script =
      page.script.empty() ? "" : fmt::format("<script>{}</script>\n", page.script);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      // Whatever a name contains, nothing is loaded and no other script runs.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'{0}\">\n"
      "<title>{1}</title>\n<style>{2}{3}</style></head><body>\n<h1>{1}</h1>\n{4}{5}"
      "</body></html>\n",
      script.empty() ? "" : "; script-src 'unsafe-inline'",
      html(page.title),
      style_of_all,
      page.style,
      page.body,
      script);
}

}  // namespace lastref::harness
