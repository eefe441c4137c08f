#include "bench/perf/paired_runs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <span>

#include <fmt/format.h>

namespace lastref::perf {
namespace {

/// The state of a unit.
struct Course {
  std::size_t unit = 0;
  std::span<ComparedRow> rows = {};
  std::vector<BestP> best_p = {};
  bool is_settled = false;
};

/// Why these are not valid times of this many rows; or empty.
std::string what_is_wrong_with(const std::vector<double>& times, std::size_t rows) {
  if (times.size() != rows) {
    return fmt::format("{} times are there, not {}", times.size(), rows);
  }
  const auto is_time = [](double time) { return time > 0 && std::isfinite(time); };
  return std::ranges::all_of(times, is_time) ? "" : "it took no time that can be compared";
}

class PairedRuns {
 public:
  PairedRuns(const std::vector<Unit>& units,
             const MeasureOnce& measure,
             const PairedOptions& options)
      : units_(units), measure_(measure), options_(options), chance_(options.seed) {
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
    std::vector<Judgement> judgements;
    for (const ComparedRow& row : rows_) {
      judgements.push_back(row.judgement);
    }
    judge_together(judgements, rules_);
    for (std::size_t at = 0; at < rows_.size(); ++at) {
      rows_[at].judgement = judgements[at];
      if (!rows_[at].error.empty()) {
        rows_[at].judgement.verdict = Verdict::cannot_tell;
        rows_[at].judgement.is_beyond = false;
        rows_[at].judgement.why = rows_[at].error;
      }
    }
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
      auto measured = measure_(side, course.unit);
      const std::string why =
          measured ? what_is_wrong_with(*measured, course.rows.size()) : measured.error();
      if (!why.empty()) {
        give_up(course, (side == Side::a ? "A: " : "B: ") + why);
        return;
      }
      times[side == Side::a ? 0 : 1] = *std::move(measured);
    }
    for (std::size_t row = 0; row < course.rows.size(); ++row) {
      course.rows[row].a.push_back(times[0][row]);
      course.rows[row].b.push_back(times[1][row]);
    }
  }

  static void give_up(Course& course, const std::string& why) {
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

  const std::vector<Unit>& units_;
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

std::vector<ComparedRow> run_in_pairs(const std::vector<Unit>& units,
                                      const MeasureOnce& measure,
                                      const PairedOptions& options) {
  return PairedRuns(units, measure, options).run();
}

std::size_t rows_in(const std::vector<Unit>& units) {
  return std::accumulate(
      units.begin(), units.end(), std::size_t{0}, [](auto sum, const Unit& unit) {
        return sum + unit.rows.size();
      });
}

}  // namespace lastref::perf
