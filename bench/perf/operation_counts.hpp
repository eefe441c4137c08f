// What each operation of lastref_counted asks of the machine, and whether it always does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/counted/operations.hpp"
#include "bench/perf/counter_table.hpp"

namespace lastref::perf {

struct OperationCounts {
  std::vector<CounterRow> rows;
  /// Counters that were not the same each time, as people read it; rows have what it was first.
  std::vector<std::string> vague;
};

/// Who does the operation.
struct Performer {
  std::string program;     ///< lastref_counted
  std::string plant = {};  ///< A slow-down that it shall have, if any: see CountingOs.
};

/// Throws          std::runtime_error, as count_calls.
OperationCounts counts_of(const bench::Operation& operation, const Performer& performer);

/// Whether this kernel can do what it needs.
bool can_be_counted_here(const bench::Operation& operation);

}  // namespace lastref::perf
