#include "bench/perf/counter_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace lastref::perf {
namespace {

constexpr std::string_view head = "| Operation | Process | System calls |";
constexpr std::size_t columns_before = 3;
constexpr std::string_view not_counted = "–";

struct Column {
  std::string_view name;
  std::uint64_t Counts::*figure;
};

constexpr std::array columns = {
    Column{"Crossings", &Counts::crossings},
    Column{"Messages", &Counts::messages},
    Column{"Bytes moved", &Counts::bytes},
    Column{"Copies", &Counts::copies},
    Column{"Bytes copied", &Counts::copied},
    Column{"Wake-ups", &Counts::wake_ups},
    Column{"Processes", &Counts::processes},
    Column{"Threads", &Counts::threads},
    Column{pages_column, &Counts::faults},
};

bool is_column(std::string_view name) {
  return std::ranges::find(columns, name, &Column::name) != columns.end();
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string_view> split(std::string_view text, std::string_view between) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(between);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + between.size());
  }
}

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) {
    throw std::runtime_error(fmt::format("'{}' is no number", text));
  }
  return number;
}

/// The lines where the table begins and ends; both are the number of lines if there is none.
std::pair<std::size_t, std::size_t> table_in(const std::vector<std::string>& lines) {
  const auto begin =
      std::ranges::find_if(lines, [](const std::string& line) { return line.starts_with(head); });
  const auto end = std::find_if(
      begin, lines.end(), [](const std::string& line) { return !line.starts_with('|'); });
  return {static_cast<std::size_t>(begin - lines.begin()),
          static_cast<std::size_t>(end - lines.begin())};
}

CounterRow row_of(std::string_view line) {
  if (!line.starts_with("| ") || !line.ends_with(" |")) {
    throw std::runtime_error("it does not begin with '| ' and end with ' |'");
  }
  const auto cells = split(line.substr(2, line.size() - 4), " | ");
  if (cells.size() != columns_before + columns.size()) {
    throw std::runtime_error(fmt::format("it has {} columns", cells.size()));
  }
  CounterRow row{.operation = std::string(cells[0].substr(0, cells[0].find(':'))),
                 .process = std::string(cells[1]),
                 .figures = {}};
  for (const std::string_view call : split(cells[2], ", ")) {
    if (call.empty()) {
      continue;
    }
    const auto words = split(call, " ");
    if (words.size() != 2) {
      throw std::runtime_error(fmt::format("'{}' is no call and its number", call));
    }
    row.figures[std::string(words[0])] = number_in(words[1]);
  }
  for (std::size_t index = 0; index < columns.size(); ++index) {
    if (const std::string_view cell = cells[columns_before + index];
        !cell.empty() && cell != not_counted) {
      row.figures[std::string(columns[index].name)] = number_in(cell);
    }
  }
  return row;
}

std::uint64_t figure_in(const Figures& figures, const std::string& counter) {
  const auto found = figures.find(counter);
  return found == figures.end() ? 0 : found->second;
}

using Keyed = std::map<std::pair<std::string, std::string>, const Figures*>;

Keyed by_process(const std::vector<CounterRow>& rows) {
  Keyed keyed;
  for (const CounterRow& row : rows) {
    keyed[{row.operation, row.process}] = &row.figures;
  }
  return keyed;
}

}  // namespace

Figures figures_of(const Counts& counts) {
  Figures figures(counts.calls.begin(), counts.calls.end());
  for (const Column& column : columns) {
    if (counts.*column.figure > 0) {
      figures[std::string(column.name)] = counts.*column.figure;
    }
  }
  return figures;
}

std::string to_markdown(const std::vector<CounterRow>& rows,
                        const std::map<std::string, OperationText>& operations) {
  std::string text(head);
  std::string line = "| --- | --- | --- |";
  for (const Column& column : columns) {
    text += fmt::format(" {} |", column.name);
    line += " ---: |";
  }
  text += '\n' + line + '\n';
  std::string last;
  for (const CounterRow& row : rows) {
    std::string calls;
    for (const auto& [counter, figure] : row.figures) {
      if (!is_column(counter)) {
        calls += fmt::format("{}{} {}", calls.empty() ? "" : ", ", counter, figure);
      }
    }
    const bool is_first = std::exchange(last, row.operation) != row.operation;
    const auto says = operations.find(row.operation);
    const bool is_known = says != operations.end();
    text += fmt::format("| {}{} | {} | {} |",
                        row.operation,
                        is_first && is_known ? ": " + says->second.what : "",
                        row.process,
                        calls);
    for (const Column& column : columns) {
      const std::uint64_t figure = figure_in(row.figures, std::string(column.name));
      const bool counts = column.name != pages_column || !is_known || says->second.counts_pages;
      text += !counts       ? fmt::format(" {} |", not_counted)
              : figure == 0 ? "  |"
                            : fmt::format(" {} |", figure);
    }
    text += '\n';
  }
  return text;
}

std::vector<CounterRow> rows_in(std::string_view page) {
  const std::vector<std::string> lines = lines_of(page);
  const auto [begin, end] = table_in(lines);
  if (end < begin + 2) {
    throw std::runtime_error("no table of counters");
  }
  std::vector<CounterRow> rows;
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t at = begin + 2; at < end; ++at) {
    try {
      rows.push_back(row_of(lines[at]));
      const CounterRow& row = rows.back();
      if (!seen.emplace(row.operation, row.process).second) {
        throw std::runtime_error(
            fmt::format("{} of {} has one already", row.operation, row.process));
      }
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(fmt::format("line {} is no row: {}", at + 1, error.what()));
    }
  }
  return rows;
}

std::string with_table(std::string_view page, std::string_view table) {
  const std::vector<std::string> lines = lines_of(page);
  const auto [begin, end] = table_in(lines);
  std::string text;
  for (std::size_t at = 0; at <= lines.size(); ++at) {
    if (at == begin) {
      text += table;
    }
    if (at < lines.size() && (at < begin || at >= end)) {
      text += lines[at] + '\n';
    }
  }
  return text;
}

std::vector<CounterDifference> differences(const std::vector<CounterRow>& expected,
                                           const std::vector<CounterRow>& found) {
  const Keyed had = by_process(expected);
  const Keyed has = by_process(found);
  std::vector<CounterRow> order = expected;
  order.insert(order.end(), found.begin(), found.end());
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<CounterDifference> all;
  static const Figures none;
  for (const CounterRow& row : order) {
    const std::pair key(row.operation, row.process);
    if (!seen.insert(key).second) {
      continue;
    }
    const Figures& before = had.contains(key) ? *had.at(key) : none;
    const Figures& now = has.contains(key) ? *has.at(key) : none;
    Figures both = before;
    both.insert(now.begin(), now.end());
    for (const auto& [counter, ignored] : both) {
      const std::uint64_t was = figure_in(before, counter);
      const std::uint64_t is = figure_in(now, counter);
      if (was != is) {
        all.push_back({row.operation, row.process, counter, was, is});
      }
    }
  }
  return all;
}

std::string to_text(const CounterDifference& difference) {
  return fmt::format("{}, {}: {}: {} expected, {} found",
                     difference.operation,
                     difference.process,
                     difference.counter,
                     difference.expected,
                     difference.found);
}

}  // namespace lastref::perf
