#include "bench/perf/counters.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/ranges.h>

#include "bench/counted/mark.hpp"
#include "bench/perf/figures.hpp"
#include "bench/perf/files.hpp"
#include "bench/perf/process.hpp"
#include "bench/perf/verbs.hpp"
#include "bench/shm_folder.hpp"
#include "impl/os/kernel_os_spawn.hpp"

namespace lastref::perf {
namespace {

namespace fs = std::filesystem;
using harness::Exit;
using Rows = std::vector<CounterRow>;

constexpr std::string_view head = "| Operation | Process | System calls |";
constexpr std::size_t columns_before = 3;
constexpr std::string_view not_counted = "–";
constexpr auto columns = names_of(Column());
/// Whether this is a system call depends on the machine's clock. vdso(7)
constexpr const char* call_of_the_clock = "clock_gettime";
/// Where the heap ends depends on all earlier allocations.
constexpr const char* call_of_the_heap = "brk";

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

std::uint64_t figure_of(std::string_view text) {
  const auto number = number_in<std::uint64_t>(text);
  if (!number) {
    give_up("'{}' is no number", text);
  }
  return *number;
}

/// Where the table of a page begins and ends; the end of the page if it has none.
std::pair<std::size_t, std::size_t> table_in(std::string_view page) {
  const std::size_t begin = std::min(page.find(head), page.size());
  std::size_t end = begin;
  while (page.substr(end).starts_with('|')) {
    end = std::min(page.find('\n', end), page.size() - 1) + 1;
  }
  return {begin, end};
}

CounterRow row_of(std::string_view line) {
  if (!line.starts_with("| ") || !line.ends_with(" |")) {
    give_up("it does not begin with '| ' and end with ' |'");
  }
  const auto cells = split(line.substr(2, line.size() - 4), " | ");
  if (cells.size() != columns_before + columns.size()) {
    give_up("it has {} columns", cells.size());
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
      give_up("'{}' is no call and its number", call);
    }
    row.figures[std::string(words[0])] = figure_of(words[1]);
  }
  for (std::size_t index = 0; index < columns.size(); ++index) {
    if (const std::string_view cell = cells[columns_before + index];
        !cell.empty() && cell != not_counted) {
      row.figures[std::string(columns[index])] = figure_of(cell);
    }
  }
  return row;
}

std::uint64_t figure_in(const Figures& figures, std::string_view counter) {
  const auto found = figures.find(counter);
  return found == figures.end() ? 0 : found->second;
}

}  // namespace

std::string to_markdown(const Rows& rows, const std::map<std::string, OperationText>& operations) {
  std::string text(head);
  std::string line = "| --- | --- | --- |";
  for (const std::string_view column : columns) {
    text += fmt::format(" {} |", column);
    line += " ---: |";
  }
  text += '\n' + line + '\n';
  std::string last;
  for (const CounterRow& row : rows) {
    std::string calls;
    for (const auto& [counter, figure] : row.figures) {
      if (std::ranges::find(columns, counter) == columns.end()) {
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
    for (const std::string_view column : columns) {
      const std::uint64_t figure = figure_in(row.figures, column);
      const bool counts =
          column != name_of(Column::pages) || !is_known || says->second.counts_pages;
      text += !counts       ? fmt::format(" {} |", not_counted)
              : figure == 0 ? "  |"
                            : fmt::format(" {} |", figure);
    }
    text += '\n';
  }
  return text;
}

Rows rows_in(std::string_view page) {
  const auto [begin, end] = table_in(page);
  std::vector<std::string_view> lines = split(page.substr(begin, end - begin), "\n");
  if (lines.back().empty()) {
    lines.pop_back();
  }
  if (lines.size() < 2) {
    give_up("no table of counters");
  }
  const auto before = std::ranges::count(page.substr(0, begin), '\n');
  Rows rows;
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t at = 2; at < lines.size(); ++at) {
    try {
      const CounterRow& row = rows.emplace_back(row_of(lines[at]));
      if (!seen.emplace(row.operation, row.process).second) {
        give_up("{} of {} has one already", row.operation, row.process);
      }
    } catch (const std::runtime_error& error) {
      give_up("line {} is no row: {}", static_cast<std::size_t>(before) + at + 1, error.what());
    }
  }
  return rows;
}

std::string with_table(std::string_view page, std::string_view table) {
  const auto [begin, end] = table_in(page);
  return std::string(page.substr(0, begin)).append(table).append(page.substr(end));
}

std::vector<std::string> differences(const Rows& expected, const Rows& found) {
  using Key = std::pair<std::string, std::string>;
  std::map<Key, std::array<Figures, 2>> by_process;
  std::vector<Key> order;
  for (const std::size_t now : {0U, 1U}) {
    for (const CounterRow& row : now == 0 ? expected : found) {
      const auto [at, is_new] = by_process.try_emplace({row.operation, row.process});
      at->second[now] = row.figures;
      order.insert(order.end(), is_new ? 1 : 0, at->first);
    }
  }
  std::vector<std::string> all;
  for (const Key& key : order) {
    const auto& [before, now] = by_process.at(key);
    Figures both = before;
    both.insert(now.begin(), now.end());
    for (const auto& [counter, ignored] : both) {
      const std::uint64_t was = figure_in(before, counter);
      const std::uint64_t is = figure_in(now, counter);
      if (was != is) {
        all.push_back(fmt::format(
            "{}, {}: {}: {} expected, {} found", key.first, key.second, counter, was, is));
      }
    }
  }
  return all;
}

namespace {

/// The paths below always have the same length, because their bytes are counted.
std::vector<FiguresByRole> rounds_of(const bench::Operation& operation, const Performer& by) {
  const bench::ShmFolder ground;
  const auto make_folder = [&](const char* name) {
    std::string path = ground.path() + name;
    fs::create_directory(path);
    fs::permissions(path, fs::perms::owner_all);
    return path;
  };
  // One heap for all threads: the kernel chooses the address of another one, and so how many calls
  // its alignment needs.
  std::vector<std::string> environment = {"GLIBC_TUNABLES=glibc.malloc.arena_max=1",
                                          "LASTREF_RUNTIME_FOLDER=" + make_folder("/run"),
                                          "LASTREF_TEMP_FOLDER=" + make_folder("/temporary")};
  if (!by.plant.empty()) {
    environment.push_back("LASTREF_COUNTED_PLANT=" + by.plant);
  }
  return count_calls({.command = {by.program, std::string(operation.name), make_folder("/files")},
                      .environment = std::move(environment),
                      .tells_ends = operation.tells_ends});
}

/// Removes the counters that vary.
Figures exact(Figures figures, bool counts_pages) {
  figures.erase(call_of_the_clock);
  figures.erase(call_of_the_heap);
  if (!counts_pages) {
    figures.erase(std::string(name_of(Column::pages)));
  }
  return figures;
}

}  // namespace

OperationCounts counts_of(const bench::Operation& operation, const Performer& performer) {
  const std::string name(operation.name);
  std::vector<FiguresByRole> rounds = rounds_of(operation, performer);
  if (rounds.size() != bench::rounds) {
    give_up("{} was done {} times", name, rounds.size());
  }
  rounds.erase(rounds.begin(), rounds.begin() + bench::warm_ups);

  OperationCounts counts;
  std::map<std::string, Figures> first;
  std::map<std::pair<std::string, std::string>, std::vector<std::uint64_t>> seen;
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    for (const auto& [process, of_round] : rounds[round]) {
      const Figures figures = exact(of_round, operation.faults_vary.empty());
      first.try_emplace(process, round == 0 ? figures : Figures());
      for (const auto& [counter, figure] : figures) {
        seen.try_emplace({process, counter}, rounds.size()).first->second[round] = figure;
      }
    }
  }
  for (const auto& [process, figures] : first) {
    counts.rows.push_back({.operation = name, .process = process, .figures = figures});
  }
  for (const auto& [key, all] : seen) {
    if (std::ranges::count(all, all.front()) != std::ssize(all)) {
      counts.vague.push_back(
          fmt::format("{}, {}: {}: {}", name, key.first, key.second, fmt::join(all, " ")));
    }
  }
  return counts;
}

bool can_be_counted_here(const bench::Operation& operation) {
  return !operation.tells_ends || os::reports_exit_of_detached();
}

namespace {

bool is_asked_for(const bench::Operation& operation, const CountersOptions& options) {
  return options.operations.empty() ||
         std::ranges::find(options.operations, operation.name) != options.operations.end();
}

std::string page_at(const std::string& path) {
  const auto text = text_of(path);
  if (!text) {
    give_up("{} cannot be read", path);
  }
  return *text;
}

/// The rows that were counted, and the operations that were left out.
struct Counted : OperationCounts {
  std::set<std::string, std::less<>> left_out = {};
};

Counted count_all(const CountersOptions& options) {
  const Performer performer{.program = program_beside_us("lastref_counted"),
                            .plant = options.plant};
  Counted counted;
  for (const bench::Operation& operation : bench::operations()) {
    if (is_asked_for(operation, options) && can_be_counted_here(operation)) {
      OperationCounts counts = counts_of(operation, performer);
      std::ranges::move(counts.rows, std::back_inserter(counted.rows));
      std::ranges::move(counts.vague, std::back_inserter(counted.vague));
      continue;
    }
    counted.left_out.emplace(operation.name);
    if (is_asked_for(operation, options)) {
      fmt::print("LEFT OUT {}: this kernel does not report how processes ended\n", operation.name);
    }
  }
  return counted;
}

/// The table in the order of operations; those that were left out keep their old rows.
std::string table_of(const Counted& counted, const Rows& before) {
  std::map<std::string, OperationText> texts;
  Rows rows;
  for (const bench::Operation& operation : bench::operations()) {
    const std::string name(operation.name);
    texts[name] = {.what = std::string(operation.what),
                   .counts_pages = operation.faults_vary.empty()};
    std::ranges::copy_if(counted.left_out.contains(name) ? before : counted.rows,
                         std::back_inserter(rows),
                         [&](const CounterRow& row) { return row.operation == name; });
  }
  return to_markdown(rows, texts);
}

Exit check(const CountersOptions& options, Rows expected, const Counted& counted) {
  std::erase_if(expected,
                [&](const CounterRow& row) { return counted.left_out.contains(row.operation); });
  const auto found = differences(expected, counted.rows);
  if (found.empty()) {
    fmt::print("{} rows are as in {}\n", counted.rows.size(), options.check);
    return Exit::clean;
  }
  for (const std::string& each : found) {
    fmt::print("DIFFERS {}\n", each);
  }
  fmt::print("accept it, in the same commit, with: ./lastref perf counters --update {}\n",
             options.check);
  return Exit::violation;
}

}  // namespace

Exit run_counters(const CountersOptions& options) {
  bench::remove_what_killed_benches_left();
  // Read the table first: an error here should come before the counting.
  const Rows expected = options.check.empty() ? Rows() : rows_in(page_at(options.check));
  const Counted counted = count_all(options);
  if (options.check.empty() && options.update.empty()) {
    fmt::print("{}", table_of(counted, {}));
  }
  for (const std::string& each : counted.vague) {
    fmt::print("NOT EXACT {}\n", each);
  }
  if (!counted.vague.empty()) {
    return Exit::not_deterministic;
  }
  if (!options.update.empty()) {
    const std::string page = page_at(options.update);
    const Rows before = counted.left_out.empty() ? Rows() : rows_in(page);
    write_whole(options.update, with_table(page, table_of(counted, before)));
  }
  return options.check.empty() ? Exit::clean : check(options, expected, counted);
}

}  // namespace lastref::perf
