// Verdict: whether B is faster or slower than A, and how sure that is.
//
// What is promised, of all rows of a comparison together:
// - Programs that are equal are called faster or slower with a chance of alpha at most, whatever
//   the noise is, drifts, outliers and busy neighbours: a coin says which one of a pair is measured
//   first, so whatever is not the programs' own falls on either side alike, and the signed-rank
//   test counts just that. Holm's correction is for many rows. Looking several times is paid for in
//   advance: each look may spend its share of alpha, and a p is that of the best look times the
//   number of looks. Only looks count that point to where the ratio points, else it is neither: the
//   p is then the least of fewer, so no less than that of all of them, of either side, which is
//   what alpha is promised of.
// - All intervals contain their true ratios with a chance of `coverage`, if noise is as likely to
//   fall on one side of the truth as on the other; each is of the look that was the last one.
// Samples that are no pairs, of two files, say, are judged by the rank-sum test and a bootstrap of
// the ratio of medians. No coin has chosen when they were measured, so what the machine did
// meanwhile looks like the program: these promises are about the samples alone.
//
// The ratio of pairs is that of Hodges and Lehmann's centre of their logarithms, not of two
// medians: on a machine that has two speeds the medians may be of one speed each, while a pair has
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/perf/statistics.hpp"

namespace lastref::perf {

/// What a comparison is judged by.
struct Rules {
  double tolerance =
      0.05;                ///< 0.05: up to 1.05 times as long, or as short, is as good as the same.
  double alpha = 1e-4;     ///< The chance of a false alarm, of all rows together.
  double coverage = 0.95;  ///< of all intervals together
  std::size_t rows = 1;    ///< that are judged together
  std::size_t pairs_max = 200;
};

inline constexpr std::size_t looks_max = 5;

/// How many pairs there have to be before any row can be called faster or slower.
std::size_t least_pairs(const Rules& rules);
/// After how many pairs there is a look: a few more than the least, then growing evenly to the
/// most; looks_max of them or fewer. None if pairs_max is less than least_pairs.
std::vector<std::size_t> looks_of(const Rules& rules);

enum class Verdict : std::uint8_t { faster, slower, same, cannot_tell };

/// As tables and JSON have it.
std::string name_of(Verdict verdict);

struct Judgement {
  Verdict verdict = Verdict::cannot_tell;
  double ratio = 1;        ///< of B to A; above 1 is slower
  Interval interval = {};  ///< of the ratio
  /// Of what points to where the ratio does. Corrected for the looks; by judge_together for the
  /// rows, too.
  double p = 1;
  double p_against = 1;     ///< of what points to the other side; corrected for the looks
  std::size_t pairs = 0;    ///< or values at the side that has fewer
  bool is_beyond = false;   ///< Faster or slower, and by more than the tolerance.
  bool is_settled = false;  ///< More pairs would say the same.
  bool has_pairs = true;    ///< Or it is about samples.
  std::string why = {};     ///< it cannot be told
};

/// The best of the looks so far, for each side that it can point to; not corrected.
struct BestP {
  double slower = 1;
  double faster = 1;

  void add(const Evidence& evidence) noexcept;
};

/// One look at all pairs of a row so far. `best_p` is that of the looks before.
Judgement judge_pairs(std::span<const double> a,
                      std::span<const double> b,
                      const Rules& rules,
                      BestP& best_p);

/// The only look at samples that are no pairs.
Judgement judge_samples(std::span<const double> a,
                        std::span<const double> b,
                        const Rules& rules,
                        std::uint64_t seed);

/// The last word on all rows: corrects each p for their number, and settles what follows from that.
void judge_together(std::span<Judgement> rows, const Rules& rules);

}  // namespace lastref::perf
