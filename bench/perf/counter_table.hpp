// The table of counters: what each operation asks of each process, as a page that a person reads
// and a test compares.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/perf/counts.hpp"

namespace lastref::perf {

/// By the counter's name: a column of the table, or a system call. None is 0.
using Figures = std::map<std::string, std::uint64_t>;

Figures figures_of(const Counts& counts);

struct CounterRow {
  std::string operation;
  std::string process;
  Figures figures;

  bool operator==(const CounterRow&) const = default;
};

/// The one that is not counted of every operation.
inline constexpr std::string_view pages_column = "Pages";

/// What a page says of an operation besides its counters.
struct OperationText {
  std::string what;
  bool counts_pages = true;
};

/// Lines of Markdown.
std::string to_markdown(const std::vector<CounterRow>& rows,
                        const std::map<std::string, OperationText>& operations);

/// The rows of the first such table in a page.
///
/// Throws          std::runtime_error: there is none, or a line of it is no row; with its number.
std::vector<CounterRow> rows_in(std::string_view page);

/// The page with another table in the place of its own, or behind it all if it has none.
std::string with_table(std::string_view page, std::string_view table);

/// A counter that is not what it was; none is 0.
struct CounterDifference {
  std::string operation;
  std::string process;
  std::string counter;
  std::uint64_t expected = 0;
  std::uint64_t found = 0;

  bool operator==(const CounterDifference&) const = default;
};

/// In the order of what was expected, and then of what is new.
std::vector<CounterDifference> differences(const std::vector<CounterRow>& expected,
                                           const std::vector<CounterRow>& found);

std::string to_text(const CounterDifference& difference);

}  // namespace lastref::perf
