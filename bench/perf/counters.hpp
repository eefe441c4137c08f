// counters: what each operation of lastref_counted costs each process, whether that is constant,
// and the table of it, as a page for people and for a test that compares it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/counted/operations.hpp"
#include "bench/perf/call_counter.hpp"

namespace lastref::perf {

struct CounterRow {
  std::string operation;
  std::string process;
  Figures figures;

  bool operator==(const CounterRow&) const = default;
};

/// What a page has about an operation in addition to its counters.
struct OperationText {
  std::string what;
  bool counts_pages = true;
};

/// Lines of Markdown.
std::string to_markdown(const std::vector<CounterRow>& rows,
                        const std::map<std::string, OperationText>& operations);

/// The rows of the first such table in a page.
///
/// Throws          std::runtime_error: there is no table, or a line of it is not a row; the message
///                 has the line number.
std::vector<CounterRow> rows_in(std::string_view page);

/// The page with its table replaced, or with the table appended if the page has none.
std::string with_table(std::string_view page, std::string_view table);

/// A sentence for each counter that has changed; a missing counter is 0. First in the order of the
/// expected rows, then the new rows.
std::vector<std::string> differences(const std::vector<CounterRow>& expected,
                                     const std::vector<CounterRow>& found);

struct OperationCounts {
  std::vector<CounterRow> rows;
  /// Counters that differed between rounds, as text; rows have the value of the first round.
  std::vector<std::string> vague;
};

/// The program that runs the operation.
struct Performer {
  std::string program;     ///< lastref_counted
  std::string plant = {};  ///< A slowdown to plant, if any: see CountingOs.
};

/// Throws          std::runtime_error, as count_calls.
OperationCounts counts_of(const bench::Operation& operation, const Performer& performer);

/// Whether this kernel supports what the operation needs.
bool can_be_counted_here(const bench::Operation& operation);

}  // namespace lastref::perf
