// paired_runs: measures two sides in turns until it can be told which one is quicker.
//
// Nothing here knows what is measured, so a test can give it noise of any kind. In each round every
// unit that is not settled is measured at A and at B, one right after the other: what the machine
// does for seconds befalls both. A coin of its own for each pair says which side is first, which is
// what the promises of verdict.hpp stand on; units come in another order in every round.
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

/// What is measured at once, and gives a time for each of its rows.
struct Unit {
  std::string name;
  std::vector<std::string> rows;
};

/// Measures the unit of this index once: seconds of each row, all above 0, or why it cannot.
using MeasureOnce =
    std::function<tl::expected<std::vector<double>, std::string>(Side side, std::size_t unit)>;

struct Progress {
  std::size_t look = 0;  ///< from 1
  std::size_t looks = 0;
  std::size_t pairs = 0;      ///< of each unit that is not settled
  std::size_t pairs_max = 0;  ///< if none settles
  std::size_t unsettled = 0;  ///< units
};

struct PairedOptions {
  Rules rules = {};  ///< The number of rows is that of the units.
  std::uint64_t seed = 0;
  /// Whether there is no more time; asked after each pair. What is not settled then is looked at
  /// once more, with the pairs that it has.
  std::function<bool()> is_over = [] { return false; };
  std::function<void(const Progress&)> tell = [](const Progress&) {};
};

/// All that was measured of a row, and what it comes to.
struct ComparedRow {
  std::string name;
  Judgement judgement = {};
  std::vector<double> a = {};  ///< seconds, in the order of pairs
  std::vector<double> b = {};
  std::string error = {};  ///< Why it was given up.
};

/// Rows of units in their order. rules.pairs_max is at least least_pairs(rules) for all rows.
std::vector<ComparedRow> run_in_pairs(const std::vector<Unit>& units,
                                      const MeasureOnce& measure,
                                      const PairedOptions& options);

/// How many rows they have in all.
std::size_t rows_in(const std::vector<Unit>& units);

}  // namespace lastref::perf
