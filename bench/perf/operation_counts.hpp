// operation_counts: what each operation of lastref_counted costs, and whether that is constant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/counted/operations.hpp"
#include "bench/perf/counter_table.hpp"

namespace lastref::perf {

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
