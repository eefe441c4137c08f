#include "bench/perf/verdict.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace lastref::perf {
namespace {

double rows_of(const Rules& rules) {
  return static_cast<double>(std::max<std::size_t>(rules.rows, 1));
}

Interval tolerated(const Rules& rules) {
  return {.low = 1 / (1 + rules.tolerance), .high = 1 + rules.tolerance};
}

/// Bonferroni's correction for the numbers of looks and rows.
double confidence_of_each(const Rules& rules, double looks) {
  return 1 - (1 - rules.coverage) / rows_of(rules) / looks;
}

Estimate ratio_of(const Estimate& of_logarithms) {
  return {.middle = std::exp(of_logarithms.middle),
          .interval = {.low = std::exp(of_logarithms.interval.low),
                       .high = std::exp(of_logarithms.interval.high)}};
}

/// Whether the interval shows on which side of each bound of the tolerance the ratio is.
bool is_on_one_side(const Interval& interval, const Interval& tolerance) {
  return interval.lies_in(tolerance) || interval.low > tolerance.high ||
         interval.high < tolerance.low;
}

/// Estimates the pairs needed: an interval shrinks with the square root of their number.
std::string why_unknown(const Judgement& judgement, const Rules& rules) {
  const char* const values = judgement.has_pairs ? "pairs" : "repetitions";
  if (judgement.p_against <= rules.alpha) {
    const double ratio = judgement.ratio;
    return fmt::format("ranks say {}, the ratio does not",
                       ratio > 1   ? "faster"
                       : ratio < 1 ? "slower"
                                   : "that they differ");
  }
  const double reach = std::log(1 + rules.tolerance);
  const double wide = std::log(judgement.interval.high) - std::log(judgement.interval.low);
  if (!judgement.interval.contains(1)) {
    return fmt::format("{} {} are too few to be sure", judgement.pairs, values);
  }
  if (!std::isfinite(wide)) {
    const double looks = judgement.has_pairs ? static_cast<double>(looks_max) : 1;
    return fmt::format("{} {} are too few: it takes {}",
                       judgement.pairs,
                       values,
                       least_count_for(confidence_of_each(rules, looks)));
  }
  // The estimate may lie anywhere within the tolerance; leave half of its width for that.
  const double wanted = std::ceil(static_cast<double>(judgement.pairs) * std::pow(wide / reach, 2));
  return fmt::format("too much noise: ±{:.1f} % takes some {:.0f} {}",
                     rules.tolerance * 100,
                     std::max(wanted, static_cast<double>(judgement.pairs) + 1),
                     values);
}

/// For a ratio of 1 all evidence counts as evidence against it.
void weigh(Judgement& judgement, const BestP& best, double looks) {
  const double slower = std::min(1.0, best.slower * looks);
  const double faster = std::min(1.0, best.faster * looks);
  judgement.p = judgement.ratio > 1 ? slower : judgement.ratio < 1 ? faster : 1;
  judgement.p_against = judgement.ratio > 1   ? faster
                        : judgement.ratio < 1 ? slower
                                              : std::min(slower, faster);
}

void settle(Judgement& judgement, const Rules& rules) {
  const Interval tolerance = tolerated(rules);
  judgement.is_beyond = false;
  judgement.why.clear();
  if (judgement.p <= rules.alpha) {
    judgement.verdict = judgement.ratio > 1 ? Verdict::slower : Verdict::faster;
    judgement.is_beyond = !tolerance.contains(judgement.ratio);
  } else if (judgement.interval.lies_in(tolerance)) {
    judgement.verdict = Verdict::same;
  } else {
    judgement.verdict = Verdict::cannot_tell;
    judgement.why = why_unknown(judgement, rules);
  }
}

}  // namespace

std::size_t least_pairs(const Rules& rules) {
  const double share = rules.alpha / rows_of(rules) / static_cast<double>(looks_max);
  std::size_t count = 1;
  while (least_signed_rank_p(count) > share) {
    ++count;
  }
  return count;
}

std::vector<std::size_t> looks_of(const Rules& rules) {
  const std::size_t least = least_pairs(rules);
  if (rules.pairs_max < least) {
    return {};
  }
  // With the least number all pairs have to agree. With two more, two nearly equal pairs may
  // disagree.
  const std::size_t first = std::min(least + 2, rules.pairs_max);
  const double growth = std::pow(static_cast<double>(rules.pairs_max) / static_cast<double>(first),
                                 1.0 / static_cast<double>(looks_max - 1));
  std::vector<std::size_t> looks;
  for (std::size_t look = 0; look < looks_max; ++look) {
    const double pairs = static_cast<double>(first) * std::pow(growth, static_cast<double>(look));
    const auto whole = std::min(static_cast<std::size_t>(std::lround(pairs)), rules.pairs_max);
    if (looks.empty() || whole > looks.back()) {
      looks.push_back(whole);
    }
  }
  return looks;
}

std::string name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster:
      return "faster";
    case Verdict::slower:
      return "slower";
    case Verdict::same:
      return "same";
    case Verdict::cannot_tell:
      return "cannot tell";
  }
  return {};
}

void BestP::add(const Evidence& evidence) noexcept {
  double& best = evidence.is_above ? slower : faster;
  best = std::min(best, evidence.p);
}

Judgement judge_pairs(std::span<const double> a,
                      std::span<const double> b,
                      const Rules& rules,
                      BestP& best_p) {
  std::vector<double> logarithms;
  for (std::size_t at = 0; at < std::min(a.size(), b.size()); ++at) {
    // With this formula swapping A and B only changes the sign, and ties stay ties.
    logarithms.push_back(std::log(b[at]) - std::log(a[at]));
  }
  constexpr auto looks = static_cast<double>(looks_max);
  best_p.add(signed_rank_test(logarithms));
  const Estimate ratio = ratio_of(centre_of(logarithms, confidence_of_each(rules, looks)));
  Judgement judgement{
      .ratio = ratio.middle, .interval = ratio.interval, .pairs = logarithms.size()};
  weigh(judgement, best_p, looks);
  settle(judgement, rules);
  // What Bonferroni accepts, Holm accepts too, whatever the results of the other rows are.
  const bool differs_surely = judgement.p * rows_of(rules) <= rules.alpha;
  judgement.is_settled = judgement.interval.lies_in(tolerated(rules)) ||
                         (differs_surely && is_on_one_side(judgement.interval, tolerated(rules)));
  return judgement;
}

Judgement judge_samples(std::span<const double> a,
                        std::span<const double> b,
                        const Rules& rules,
                        std::uint64_t seed) {
  const Estimate ratio = ratio_of_medians(a, b, confidence_of_each(rules, 1), seed);
  Judgement judgement{.ratio = ratio.middle,
                      .interval = ratio.interval,
                      .pairs = std::min(a.size(), b.size()),
                      .is_settled = true,
                      .has_pairs = false};
  BestP only;
  only.add(rank_sum_test(a, b));
  weigh(judgement, only, 1);
  settle(judgement, rules);
  return judgement;
}

void judge_together(std::span<Judgement> rows, const Rules& rules) {
  std::vector<double> each_p;
  for (const Judgement& row : rows) {
    each_p.push_back(row.p);
  }
  // Rows that could not be measured count as well: their number was fixed in advance.
  each_p.resize(std::max(each_p.size(), rules.rows), 1);
  const std::vector<double> corrected = holm(each_p);
  for (std::size_t at = 0; at < rows.size(); ++at) {
    rows[at].p = corrected[at];
    settle(rows[at], rules);
  }
}

}  // namespace lastref::perf
