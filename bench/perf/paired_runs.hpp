// paired_runs: measures two sides in turns until it is clear which one is faster.
//
// This code does not know what is measured, so a test can give it noise of any kind. In each round
// every unsettled unit is measured at A and at B, one right after the other, so that disturbances
// of seconds affect both. A separate coin for each pair decides which side is first; the guarantees
// of verdict.hpp depend on that. Units have another random order in each round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "bench/perf/verdict.hpp"

namespace lastref::perf {

enum class Side : std::uint8_t { a, b };

/// A unit is measured as a whole and gives one time for each of its rows.
struct Unit {
  std::string name;
  std::vector<std::string> rows;
};

/// Measures the unit of this index once. Returns the seconds of each row, all above 0, or why it
/// cannot.
using MeasureOnce =
    std::function<tl::expected<std::vector<double>, std::string>(Side side, std::size_t unit)>;

struct Progress {
  std::size_t look = 0;  ///< from 1
  std::size_t looks = 0;
  std::size_t pairs = 0;      ///< of each unsettled unit
  std::size_t pairs_max = 0;  ///< if no unit settles
  std::size_t unsettled = 0;  ///< units
};

struct PairedOptions {
  Rules rules = {};  ///< The number of rows is taken from the units.
  std::uint64_t seed = 0;
  /// Whether the time is over; called after each pair. Then unsettled units are judged once more,
  /// with the pairs that they have.
  std::function<bool()> is_over = [] { return false; };
  std::function<void(const Progress&)> tell = [](const Progress&) {};
};

/// All measurements of a row, and the result.
struct ComparedRow {
  std::string name;
  Judgement judgement = {};
  std::vector<double> a = {};  ///< seconds, in the order of pairs
  std::vector<double> b = {};
  std::string error = {};  ///< Why it was abandoned.
};

/// Returns the rows of the units in their order. rules.pairs_max has to be at least
/// least_pairs(rules) for all rows.
std::vector<ComparedRow> run_in_pairs(const std::vector<Unit>& units,
                                      const MeasureOnce& measure,
                                      const PairedOptions& options);

/// The total number of rows.
std::size_t rows_in(const std::vector<Unit>& units);

}  // namespace lastref::perf
