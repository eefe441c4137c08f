// compare: a benchmark row whose counters are the times of others as multiples of ours.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include <benchmark/benchmark.h>

namespace lastref::bench {

/// Whether other libraries and programs are measured as well.
/// False if LASTREF_BENCH_WITHOUT_PEERS is set to anything except 0. Then rows are the same, but
/// without the counters that compare the times of others, and the others do not run.
bool with_peers();

/// Does it once and returns the seconds; nothing if it failed.
using Measure = std::function<std::optional<double>()>;
using Measures = std::map<std::string, Measure>;

struct Others {
  Measures always = {};  ///< after each of our iterations
  Measures seldom = {};  ///< between our iterations, about seven times
};

/// Runs all iterations of a row with manual time. The row has a counter for each of the others: the
/// ratio of its median to ours. The counter `spread` is the range of the middle half of our times,
/// divided by their median. The label names the others that gave no result. Without peers the
/// others are not measured.
///
/// @return         our median; 0, with an error in the row, if ours failed.
double compare(benchmark::State& state, const Measure& ours, const Others& others);

}  // namespace lastref::bench
