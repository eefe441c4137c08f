#include "harness/report/lanes.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/platform/names.hpp"
#include "harness/report/html.hpp"
#include "harness/report/json_members.hpp"

namespace lastref::harness {

const std::string_view lanes_style = R"(
.lanes { display: grid; grid-template-columns: repeat(var(--lanes), minmax(170px, 1fr));
  overflow-x: auto; margin: 10px 0 0; padding: 0 0 4px; font-size: 13px; }
.lanes > * { padding: 3px 10px; border-left: 2px solid var(--edge); overflow-wrap: anywhere; }
.lanes .lane { padding: 0 10px 8px; font-weight: 600; border-left-color: transparent; }
.lanes .gap { padding: 8px 10px; border-left-color: transparent; color: var(--quiet); }
.lanes .mark { border-left-color: var(--finding-ground); }
.lanes .mark b { display: block; font-size: 12px; font-weight: 600; color: var(--bad); }
)";

namespace {

using Json = nlohmann::ordered_json;

/// Rows that are shown before and after a mark, and at the beginning and the end
constexpr std::size_t around = 8;

/// Whether each row is shown.
std::vector<bool> shown_in(const Json& timeline) {
  std::vector<bool> shown(timeline.size());
  for (std::size_t at = 0; at < timeline.size(); ++at) {
    const bool is_end = at == 0 || at + 1 == timeline.size();
    if (is_end || !text_of(timeline[at], "mark").empty()) {
      const std::size_t first = at - std::min(at, around);
      const std::size_t last = std::min(timeline.size() - 1, at + around);
      std::fill(shown.begin() + static_cast<std::ptrdiff_t>(first),
                shown.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                true);
    }
  }
  return shown;
}

class Lanes {
 public:
  explicit Lanes(const Json& timeline) : timeline_(timeline), shown_(shown_in(timeline)) {}

  std::string draw() {
    std::size_t hidden = 0;
    for (std::size_t at = 0; at < timeline_.size(); ++at) {
      if (!shown_[at]) {
        ++hidden;
        continue;
      }
      if (hidden > 0) {
        add("gap", 0, "and " + counted(hidden, "other call"));
        hidden = 0;
      }
      const std::string mark = text_of(timeline_[at], "mark");
      add(mark.empty() ? "" : "mark",
          lane_of(text_of(timeline_[at], "role")),
          fmt::format("<code>{}</code>{}",
                      html(text_of(timeline_[at], "text")),
                      mark.empty() ? "" : "<b>" + html(mark) + "</b>"));
    }
    std::string names;
    for (std::size_t lane = 0; lane < roles_.size(); ++lane) {
      names += fmt::format(
          "<div class=\"lane\" style=\"grid-area: 1 / {}\">{}</div>", lane + 1, html(roles_[lane]));
    }
    return fmt::format(
        "<div class=\"lanes\" style=\"--lanes: {}\">{}{}</div>\n", roles_.size(), names, rows_);
  }

 private:
  std::size_t lane_of(const std::string& role) {
    const auto found = std::ranges::find(roles_, role);
    if (found == roles_.end()) {
      roles_.push_back(role);
      return roles_.size() - 1;
    }
    return static_cast<std::size_t>(found - roles_.begin());
  }

  void add(std::string_view kind, std::size_t lane, const std::string& inside) {
    rows_ += fmt::format("<div class=\"{}\" style=\"grid-area: {} / {}\">{}</div>",
                         kind,
                         ++number_ + 1,
                         lane + 1,
                         inside);
  }

  const Json& timeline_;
  std::vector<bool> shown_;
  std::vector<std::string> roles_;
  std::string rows_;
  std::size_t number_ = 0;  ///< Rows that are drawn
};

}  // namespace

std::string lanes_of(const Json& timeline) {
  return timeline.empty() ? std::string() : Lanes(timeline).draw();
}

}  // namespace lastref::harness
