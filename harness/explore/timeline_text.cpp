// The text of a timeline, for a terminal.
#include <algorithm>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "harness/explore/timeline.hpp"
#include "harness/platform/names.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t margin = 4;  ///< Bytes at the left: the mark of a row
constexpr std::size_t space = 2;   ///< Bytes between columns
constexpr std::size_t column_min = 18;
constexpr std::size_t column_max = 40;
constexpr std::size_t name_max = 24;  ///< Of an actor in a list
constexpr std::size_t listed_max = 6;

char mark_of(const TimelineRow& row) {
  return row.kind == TimelineRow::Kind::finding ? '>'
         : row.is_fault                         ? '!'
         : row.kind == TimelineRow::Kind::turn  ? '*'
                                                : ' ';
}

std::string text_of(const TimelineRow& row) {
  switch (row.kind) {
    case TimelineRow::Kind::operation:
      return "[" + row.text + "]";
    case TimelineRow::Kind::finding:
      return "FINDING " + row.text;
    default:
      return row.text;
  }
}

/// In lines of at most `width` bytes, which end at spaces where they can, and not within a
/// character. Control characters are replaced.
std::vector<std::string> wrapped(std::string text, std::size_t width) {
  std::ranges::replace_if(
      text, [](char each) { return static_cast<unsigned char>(each) < 0x20 || each == 0x7f; }, '?');
  std::vector<std::string> lines;
  std::string_view left = text;
  while (left.size() > width) {
    std::size_t end = left.rfind(' ', width);
    if (end == std::string_view::npos || end == 0) {
      end = width;
      while (end > 1 && (static_cast<unsigned char>(left[end]) & 0xc0U) == 0x80U) {
        --end;
      }
    }
    lines.emplace_back(left.substr(0, end));
    left.remove_prefix(end);
    left.remove_prefix(std::min(left.find_first_not_of(' '), left.size()));
  }
  lines.emplace_back(left);
  return lines;
}

/// "a, b and 3 others"
std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t at = 0; at < std::min(names.size(), listed_max); ++at) {
    text += (at == 0 ? "" : ", ") + names[at];
  }
  return names.size() <= listed_max
             ? text
             : fmt::format("{} and {} others", text, names.size() - listed_max);
}

/// The rows closest to what a reader looks for, in their order, with gaps where others were.
std::vector<TimelineRow> closest(const std::vector<TimelineRow>& rows, std::size_t count) {
  if (rows.size() <= count) {
    return rows;
  }
  std::vector<std::size_t> distances(rows.size(), rows.size());
  const auto spread = [&](std::size_t at, std::size_t& since) {
    const bool is_near = mark_of(rows[at]) != ' ';
    since = is_near ? 0 : since + 1;
    distances[at] = std::min(distances[at], since);
  };
  std::size_t since = rows.size();
  for (std::size_t at = 0; at < rows.size(); ++at) {
    spread(at, since);
  }
  since = rows.size();
  for (std::size_t at = rows.size(); at > 0; --at) {
    spread(at - 1, since);
  }
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::size_t at) { return distances[at]; });
  order.resize(count);
  std::ranges::sort(order);
  std::vector<TimelineRow> kept;
  std::size_t next = 0;
  const auto leave_out = [&](std::size_t end) {
    if (next < end) {
      kept.push_back({.kind = TimelineRow::Kind::gap, .text = fmt::format("{} rows", end - next)});
    }
  };
  for (const std::size_t at : order) {
    leave_out(at);
    kept.push_back(rows[at]);
    next = at + 1;
  }
  leave_out(rows.size());
  return kept;
}

void add_line(std::string& text, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + '\n';
}

class Columns {
 public:
  Columns(const Timeline& timeline, std::size_t width)
      : timeline_(timeline),
        width_(std::min((width - margin) / std::max<std::size_t>(timeline.actors.size(), 1) - space,
                        column_max)) {}

  static bool fit(const Timeline& timeline, std::size_t width) {
    return timeline.actors.size() * (column_min + space) + margin <= width;
  }

  std::string text(const std::vector<TimelineRow>& rows) const {
    std::string text;
    add(text, ' ', timeline_.actors);
    add_line(text, std::string(margin, ' ') + repeated(std::string(width_, '-')));
    for (const TimelineRow& row : rows) {
      if (row.kind == TimelineRow::Kind::gap) {
        add_line(text, fmt::format("{:{}}... {} ...", "", margin, row.text));
        continue;
      }
      std::vector<std::string> cells(timeline_.actors.size());
      cells[row.actor] = text_of(row);
      if (row.to && *row.to != row.actor) {
        cells[*row.to] = "runs";
      }
      add(text, mark_of(row), cells);
    }
    return text;
  }

 private:
  std::string repeated(const std::string& cell) const {
    std::string line;
    for (std::size_t at = 0; at < timeline_.actors.size(); ++at) {
      line += cell + std::string(space, ' ');
    }
    return line;
  }

  void add(std::string& text, char mark, const std::vector<std::string>& cells) const {
    std::vector<std::vector<std::string>> all;
    std::size_t height = 1;
    for (const std::string& each : cells) {
      height = std::max(all.emplace_back(wrapped(each, width_)).size(), height);
    }
    for (std::size_t at = 0; at < height; ++at) {
      std::string line = fmt::format("  {} ", at == 0 ? mark : ' ');
      for (const std::vector<std::string>& each : all) {
        line += fmt::format("{:<{}}", at < each.size() ? each[at] : std::string(), width_ + space);
      }
      add_line(text, std::move(line));
    }
  }

  const Timeline& timeline_;
  std::size_t width_;
};

/// For more actors than there is room for columns.
std::string text_of_list(const Timeline& timeline,
                         const std::vector<TimelineRow>& rows,
                         std::size_t width) {
  std::string text;
  for (const TimelineRow& row : rows) {
    if (row.kind == TimelineRow::Kind::gap) {
      add_line(text, fmt::format("{:{}}... {} ...", "", margin, row.text));
      continue;
    }
    std::string whole = text_of(row);
    if (row.to && *row.to != row.actor) {
      whole += "; " + timeline.actors[*row.to] + " runs";
    }
    const std::size_t indent = margin + name_max + space;
    std::string name = timeline.actors[row.actor];
    for (const std::string& each : wrapped(whole, std::max(width, indent + column_min) - indent)) {
      add_line(text,
               fmt::format("  {} {:<{}}{}",
                           name.empty() ? ' ' : mark_of(row),
                           name.substr(0, name_max),
                           name_max + space,
                           each));
      name.clear();
    }
  }
  return text;
}

}  // namespace

std::string to_text(const Timeline& timeline, const TimelineLayout& layout) {
  std::string text = counted(timeline.switches, "switch", "es");
  text += timeline.objects.empty() ? std::string("; no object is raced for")
                                   : "; raced for: " + list_of(timeline.objects);
  text += timeline.others.empty() ? "" : "; not shown: " + list_of(timeline.others);
  std::string head;
  for (const std::string& each : wrapped(std::move(text), layout.width - margin)) {
    head += "  " + each + '\n';
  }
  const std::vector<TimelineRow> rows = closest(timeline.rows, layout.rows_max);
  head += Columns::fit(timeline, layout.width) ? Columns(timeline, layout.width).text(rows)
                                               : text_of_list(timeline, rows, layout.width);
  for (const Finding& each : timeline.findings) {
    for (const std::string& line : wrapped(fmt::format("after the run: FINDING {}{}{}",
                                                       each.claim,
                                                       each.seen.empty() ? "" : ": ",
                                                       each.seen),
                                           layout.width - margin)) {
      head += (line.starts_with("after the run: ") ? "  > " : "    ") + line + '\n';
    }
  }
  return head;
}

}  // namespace lastref::harness
