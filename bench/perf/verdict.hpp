// verdict: decides whether B is faster or slower than A, and how certain that is.
//
// Guarantees for all rows of a comparison together:
// - Equal programs are called faster or slower with a probability of at most alpha, whatever the
//   noise is: drift, outliers or other load. A coin decides which one of a pair is measured first.
//   So outside effects fall on both sides alike, and the signed-rank test counts exactly that.
//   Holm's correction covers many rows. Several looks are paid for in advance: each look may spend
//   its share of alpha, and p is that of the best look times the number of looks. Only looks that
//   point in the direction of the ratio count; otherwise the row is neither. Then p is the least
//   of fewer looks, so it is not below the least of all looks in both directions. Alpha is
//   guaranteed for the latter.
// - All intervals contain their true ratios with a probability of `coverage`, if noise is as likely
//   on one side of the true ratio as on the other. Each interval is that of the last look.
// Unpaired samples, for example from two files, are judged by the rank-sum test and a bootstrap of
// the ratio of medians. No coin has decided when they were measured, so other load looks like an
// effect of the program: these guarantees hold for the samples only.
//
// The ratio of pairs is Hodges and Lehmann's centre of their logarithms, not the ratio of two
// medians. On a machine with two speeds the two medians may have different speeds, while both
// values of a pair have the same one.
//
// This code does not know what is measured, so a test can give it noise of any kind. In each round
// every unsettled unit is measured at A and at B, one right after the other, so that disturbances
// of seconds affect both. A separate coin for each pair decides which side is first; the guarantees
// depend on that. Units have another random order in each round.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/perf/statistics.hpp"
#include "harness/platform/named_enum.hpp"

namespace lastref::perf {

/// The parameters of the verdicts.
struct Rules {
  double tolerance =
      0.05;                ///< 0.05: ratios from 1 / 1.05 up to 1.05 are considered to be the same.
  double alpha = 1e-4;     ///< The probability of a false alarm in all rows together.
  double coverage = 0.95;  ///< of all intervals together
  std::size_t rows = 1;    ///< number of rows that are judged together
  std::size_t pairs_max = 200;
};

inline constexpr std::size_t looks_max = 5;

/// The least number of pairs with which a row can be called faster or slower.
std::size_t least_pairs(const Rules& rules);
/// The numbers of pairs after which there is a look. The first is a few more than least_pairs; they
/// grow by a constant factor up to pairs_max. There are at most looks_max, and none if pairs_max is
/// less than least_pairs.
std::vector<std::size_t> looks_of(const Rules& rules);

/// The names are those in tables and JSON.
LASTREF_NAMED_ENUM(
    Verdict, (faster, "faster"), (slower, "slower"), (same, "same"), (cannot_tell, "cannot tell"));

struct Judgement {
  Verdict verdict = Verdict::cannot_tell;
  double ratio = 1;        ///< of B to A; above 1 is slower
  Interval interval = {};  ///< of the ratio
  /// Of the evidence in the direction of the ratio. It is corrected for the looks, and by
  /// judge_rows for the rows.
  double p = 1;
  double p_against = 1;     ///< of the evidence in the other direction; corrected for the looks
  std::size_t pairs = 0;    ///< or values of the side that has fewer
  bool is_beyond = false;   ///< Faster or slower, and by more than the tolerance.
  bool is_settled = false;  ///< More pairs would give the same verdict.
  bool has_pairs = true;    ///< False: the values are unpaired samples.
  std::string why = {};     ///< why there is no verdict
};

/// The least p of the looks so far for each direction; not corrected.
struct BestP {
  double slower = 1;
  double faster = 1;

  void add(const Evidence& evidence) noexcept {
    double& best = evidence.is_above ? slower : faster;
    best = std::min(best, evidence.p);
  }
};

/// One look at all pairs of a row so far. `best_p` is that of the previous looks and is updated.
Judgement judge_pairs(std::span<const double> a,
                      std::span<const double> b,
                      const Rules& rules,
                      BestP& best_p);

/// The only look at unpaired samples.
Judgement judge_samples(std::span<const double> a,
                        std::span<const double> b,
                        const Rules& rules,
                        std::uint64_t seed);

enum class Side : std::uint8_t { a, b };

/// A unit is measured as a whole and gives one time for each of its rows.
struct Unit {
  std::string name;
  std::vector<std::string> rows;
};

/// Measures the unit of this index once. Returns the seconds of each row, all above 0; throws
/// std::runtime_error if it cannot.
using MeasureOnce = std::function<std::vector<double>(Side side, std::size_t unit)>;

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

/// Whether a time can be compared; of a row with another one, `no_time` is what is wrong.
bool is_time(double seconds);
inline constexpr const char* no_time = "it took no time that can be compared";

/// All measurements of a row, and the result.
struct ComparedRow {
  std::string name;
  Judgement judgement = {};
  std::vector<double> a = {};  ///< seconds, in the order of pairs
  std::vector<double> b = {};
  std::string error = {};  ///< Why it was abandoned.
};

/// The final verdict on all rows: corrects each p for the number of rows and updates the verdicts.
/// Rows with an error cannot be told.
void judge_rows(std::span<ComparedRow> rows, const Rules& rules);

/// Measures two sides in turns until it is clear which one is faster. Returns the rows of the units
/// in their order. rules.pairs_max has to be at least
/// least_pairs(rules) for all rows.
std::vector<ComparedRow> run_in_pairs(const std::vector<Unit>& units,
                                      const MeasureOnce& measure,
                                      const PairedOptions& options);

/// The total number of rows.
std::size_t rows_in(const std::vector<Unit>& units);

}  // namespace lastref::perf
