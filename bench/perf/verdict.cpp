#include "bench/perf/verdict.hpp"

#include <cmath>
#include <numeric>
#include <random>

#include "bench/perf/process.hpp"

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
                       least_count_for(1 - confidence_of_each(rules, looks)));
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

/// The state of a unit.
struct Course {
  std::size_t unit = 0;
  std::span<ComparedRow> rows = {};
  std::vector<BestP> best_p = {};
  bool is_settled = false;
};

/// Throws if these are not valid times of this many rows.
void check(const std::vector<double>& times, std::size_t rows) {
  if (times.size() != rows) {
    give_up("{} times are there, not {}", times.size(), rows);
  }
  if (!std::ranges::all_of(times, is_time)) {
    give_up(no_time);
  }
}

class PairedRuns {
 public:
  PairedRuns(const std::vector<Unit>& units,
             const MeasureOnce& measure,
             const PairedOptions& options)
      : measure_(measure), options_(options), chance_(options.seed) {
    rules_.rows = rows_in(units);
    rows_.resize(rules_.rows);
    std::size_t row = 0;
    for (std::size_t unit = 0; unit < units.size(); ++unit) {
      const std::span<ComparedRow> mine = std::span(rows_).subspan(row, units[unit].rows.size());
      for (std::size_t at = 0; at < mine.size(); ++at) {
        mine[at].name = units[unit].rows[at];
      }
      courses_.push_back({.unit = unit, .rows = mine, .best_p = std::vector<BestP>(mine.size())});
      row += mine.size();
    }
  }

  std::vector<ComparedRow> run() {
    const std::vector<std::size_t> looks = looks_of(rules_);
    for (std::size_t look = 0; look < looks.size() && unsettled() > 0 && !is_over_; ++look) {
      for (; pairs_ < looks[look] && !is_over_; ++pairs_) {
        options_.tell({.look = look + 1,
                       .looks = looks.size(),
                       .pairs = pairs_,
                       .pairs_max = rules_.pairs_max,
                       .unsettled = unsettled()});
        run_round();
      }
      std::ranges::for_each(courses_, [this](Course& course) { look_at(course); });
    }
    judge_rows(rows_, rules_);
    return std::move(rows_);
  }

 private:
  std::size_t unsettled() const {
    return static_cast<std::size_t>(std::ranges::count(courses_, false, &Course::is_settled));
  }

  void run_round() {
    std::vector<std::size_t> order(courses_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, chance_);
    for (const std::size_t at : order) {
      if (!courses_[at].is_settled && !is_over_) {
        run_pair(courses_[at]);
        is_over_ = options_.is_over();
      }
    }
  }

  void run_pair(Course& course) {
    const Side first = std::bernoulli_distribution(0.5)(chance_) ? Side::b : Side::a;
    const Side second = first == Side::a ? Side::b : Side::a;
    std::vector<double> times[2];
    for (const Side side : {first, second}) {
      std::vector<double>& of_side = times[side == Side::a ? 0 : 1];
      try {
        of_side = measure_(side, course.unit);
        check(of_side, course.rows.size());
      } catch (const std::runtime_error& error) {
        abandon(course, (side == Side::a ? "A: " : "B: ") + std::string(error.what()));
        return;
      }
    }
    for (std::size_t row = 0; row < course.rows.size(); ++row) {
      course.rows[row].a.push_back(times[0][row]);
      course.rows[row].b.push_back(times[1][row]);
    }
  }

  static void abandon(Course& course, const std::string& why) {
    for (ComparedRow& row : course.rows) {
      row.error = why;
      row.judgement.pairs = row.a.size();
    }
    course.is_settled = true;
  }

  void look_at(Course& course) {
    if (course.is_settled) {
      return;
    }
    course.is_settled = true;
    for (std::size_t row = 0; row < course.rows.size(); ++row) {
      ComparedRow& compared = course.rows[row];
      compared.judgement = judge_pairs(compared.a, compared.b, rules_, course.best_p[row]);
      course.is_settled = course.is_settled && compared.judgement.is_settled;
    }
  }

  const MeasureOnce& measure_;
  const PairedOptions& options_;
  Rules rules_ = options_.rules;
  std::mt19937_64 chance_;
  std::vector<ComparedRow> rows_;
  std::vector<Course> courses_;
  std::size_t pairs_ = 0;
  bool is_over_ = false;
};

}  // namespace

std::size_t least_pairs(const Rules& rules) {
  return least_count_for(rules.alpha / rows_of(rules) / static_cast<double>(looks_max));
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

void judge_rows(std::span<ComparedRow> rows, const Rules& rules) {
  std::vector<double> each_p;
  for (const ComparedRow& row : rows) {
    each_p.push_back(row.judgement.p);
  }
  // Rows that could not be measured count as well: their number was fixed in advance.
  each_p.resize(std::max(each_p.size(), rules.rows), 1);
  const std::vector<double> corrected = holm(each_p);
  for (std::size_t at = 0; at < rows.size(); ++at) {
    Judgement& judgement = rows[at].judgement;
    judgement.p = corrected[at];
    settle(judgement, rules);
    if (!rows[at].error.empty()) {
      judgement.verdict = Verdict::cannot_tell;
      judgement.is_beyond = false;
      judgement.why = rows[at].error;
    }
  }
}

std::vector<ComparedRow> run_in_pairs(const std::vector<Unit>& units,
                                      const MeasureOnce& measure,
                                      const PairedOptions& options) {
  return PairedRuns(units, measure, options).run();
}

bool is_time(double seconds) {
  return seconds > 0 && std::isfinite(seconds);
}

std::size_t rows_in(const std::vector<Unit>& units) {
  return std::accumulate(
      units.begin(), units.end(), std::size_t{0}, [](auto sum, const Unit& unit) {
        return sum + unit.rows.size();
      });
}

}  // namespace lastref::perf
