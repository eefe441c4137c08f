// compare: a row of a benchmark whose counters say how many times as long others take for the same.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include <benchmark/benchmark.h>

namespace lastref::bench {

/// Does it once: seconds; none if it could not be done.
using Measure = std::function<std::optional<double>()>;
using Measures = std::map<std::string, Measure>;

struct Others {
  Measures always = {};  ///< in turns with ours
  Measures seldom = {};  ///< between our own iterations, some seven times
};

/// All iterations of a row with manual time, and a counter for each of the others: the ratio of
/// its median to ours; and `spread`, how far the middle half of ours reaches, as a
/// part of their median. The label names those of whom nothing was to be had. None of
/// the others without peers.
///
/// @return         our median; 0, and the row says so, if ours could not be done.
double compare(benchmark::State& state, const Measure& ours, const Others& others);

}  // namespace lastref::bench
