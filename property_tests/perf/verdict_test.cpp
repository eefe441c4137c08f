// verdict: the verdicts on noise with a known truth.
#include "bench/perf/verdict.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace lastref::perf {
namespace {

using testing::HasSubstr;

/// A machine: the factor by which the n-th measurement takes longer.
struct Machine {
  const char* name;
  std::function<double(std::size_t moment, std::mt19937_64& chance)> noise;

  friend void PrintTo(const Machine& machine, std::ostream* out) { *out << machine.name; }
};

double gauss(std::mt19937_64& chance, double deviation) {
  return std::exp(std::normal_distribution<double>(0, deviation)(chance));
}

const Machine machines[] = {
    {"calm", [](std::size_t, std::mt19937_64& chance) { return gauss(chance, 0.02); }},
    {"drifting",
     [](std::size_t moment, std::mt19937_64& chance) {
       return (1 + 0.004 * static_cast<double>(moment)) * gauss(chance, 0.02);
     }},
    {"with_outliers",
     [](std::size_t, std::mt19937_64& chance) {
       const bool is_out = std::bernoulli_distribution(0.1)(chance);
       return gauss(chance, 0.02) * (is_out ? 1 + std::exponential_distribution<>(0.5)(chance) : 1);
     }},
    // Half of the time at one speed, half at another; a pair may span the change.
    {"of_two_speeds",
     [](std::size_t moment, std::mt19937_64& chance) {
       return ((moment / 16) % 2 == 0 ? 1 : 1.7) * gauss(chance, 0.02);
     }},
    {"slower_for_the_second",
     [](std::size_t moment, std::mt19937_64& chance) {
       return (moment % 2 == 0 ? 1 : 1.1) * gauss(chance, 0.02);
     }},
};

/// B takes `effect` times as long.
MeasureOnce on(const Machine& machine, double effect, std::uint64_t seed) {
  struct State {
    std::mt19937_64 chance;
    std::size_t moment = 0;
  };
  auto state = std::make_shared<State>();
  state->chance.seed(seed);
  return [state, &machine, effect](Side side, std::size_t) {
    const double noise = machine.noise(state->moment++, state->chance);
    return std::vector{1e-6 * noise * (side == Side::b ? effect : 1)};
  };
}

ComparedRow measured(const MeasureOnce& measure, const PairedOptions& options = {}) {
  return run_in_pairs({{.name = "unit", .rows = {"row"}}}, measure, options).front();
}

Judgement judged(const Machine& machine, double effect, std::uint64_t seed, Rules rules = {}) {
  return measured(on(machine, effect, seed), {.rules = rules, .seed = seed}).judgement;
}

class VerdictTest : public testing::TestWithParam<Machine> {};

// At alpha 0.02, 300 comparisons give at most 6 false alarms on average. More than 18 come in one
// of 40,000 seeds, and this seed does not change.
TEST_P(VerdictTest, equal_programs_are_called_different_no_more_often_than_is_promised) {
  std::size_t alarms = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Verdict verdict = judged(GetParam(), 1, seed, {.alpha = 0.02, .pairs_max = 60}).verdict;
    alarms += verdict == Verdict::slower || verdict == Verdict::faster ? 1U : 0U;
  }
  EXPECT_LE(alarms, 18U);
}

TEST_P(VerdictTest, equal_programs_raise_no_alarm_by_default) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Judgement judgement = judged(GetParam(), 1, seed);
    EXPECT_FALSE(judgement.is_beyond) << seed << ": " << judgement.ratio;
  }
}

TEST_P(VerdictTest, a_tenth_more_is_found_and_beyond_the_tolerance) {
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Judgement judgement = judged(GetParam(), 1.1, seed);
    found += judgement.verdict == Verdict::slower && judgement.is_beyond ? 1U : 0U;
  }
  EXPECT_GE(found, 99U);
}

TEST_P(VerdictTest, what_is_twice_as_quick_is_faster) {
  EXPECT_EQ(judged(GetParam(), 0.5, 1).verdict, Verdict::faster);
  EXPECT_TRUE(judged(GetParam(), 0.5, 1).is_beyond);
}

TEST_P(VerdictTest, intervals_have_the_truth_as_often_as_is_promised) {
  std::size_t covered = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    covered += judged(GetParam(), 1.07, seed).interval.contains(1.07) ? 1U : 0U;
  }
  EXPECT_GE(covered, 186U);  // 93 %
}

INSTANTIATE_TEST_SUITE_P(Machines, VerdictTest, testing::ValuesIn(machines), [](const auto& row) {
  return std::string(row.param.name);
});

TEST(Verdict, a_calm_machine_needs_few_pairs_to_say_that_nothing_has_changed) {
  const Judgement judgement = judged(machines[0], 1, 1);
  EXPECT_EQ(judgement.verdict, Verdict::same);
  EXPECT_LE(judgement.pairs, least_pairs({}) + 2);
}

TEST(Verdict, a_loud_machine_is_said_to_be_so) {
  const Machine loud{"loud", [](std::size_t, auto& chance) { return gauss(chance, 1); }};
  const Judgement judgement = judged(loud, 1, 1);
  EXPECT_EQ(judgement.verdict, Verdict::cannot_tell);
  EXPECT_EQ(judgement.pairs, Rules().pairs_max);
  EXPECT_THAT(judgement.why, HasSubstr("too much noise"));
}

TEST(Verdict, a_little_slower_is_slower_if_the_noise_is_less_and_within_the_tolerance) {
  const Machine quiet{"quiet", [](std::size_t, auto& chance) { return gauss(chance, 0.005); }};
  const Judgement judgement = judged(quiet, 1.03, 1);
  EXPECT_EQ(judgement.verdict, Verdict::slower) << judgement.p;
  EXPECT_FALSE(judgement.is_beyond);
}

TEST(Verdict, a_narrower_tolerance_is_looked_for_longer) {
  const Judgement judgement = judged(machines[0], 1.03, 1, {.tolerance = 0.01});
  EXPECT_EQ(judgement.verdict, Verdict::slower) << judgement.p;
  EXPECT_TRUE(judgement.is_beyond);
  EXPECT_EQ(judged(machines[0], 1.03, 1).verdict, Verdict::same);
}

TEST(Verdict, samples_are_judged_without_pairs) {
  const std::vector<double> a = {1.00, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 1.08, 1.09};
  std::vector<double> b = a;
  const auto judged = [](std::span<const double> one, std::span<const double> other, Rules rules) {
    std::vector<ComparedRow> rows = {
        {.name = "row", .judgement = judge_samples(one, other, rules, 1)}};
    judge_rows(rows, rules);
    return rows.front().judgement;
  };
  EXPECT_EQ(judged(a, b, {.tolerance = 0.1}).verdict, Verdict::same);
  for (double& each : b) {
    each *= 1.5;
  }
  EXPECT_EQ(judged(a, b, {}).verdict, Verdict::slower);
  EXPECT_TRUE(judged(a, b, {}).is_beyond);
  const Judgement of_few = judged(std::span(a).first(3), std::span(b).first(3), {});
  EXPECT_EQ(of_few.verdict, Verdict::cannot_tell);
  EXPECT_THAT(of_few.why, HasSubstr("repetitions"));
}

TEST(Verdict, of_one_repetition_each_nothing_can_be_told) {
  const std::vector<double> one = {1};
  const std::vector<double> many(30, 1.0);
  for (const auto& [a, b] : {std::pair(one, one), std::pair(one, many), std::pair(many, one)}) {
    const Judgement judgement = judge_samples(a, b, {}, 1);
    EXPECT_EQ(judgement.verdict, Verdict::cannot_tell);
    EXPECT_EQ(judgement.why, "1 repetitions are too few: it takes 6");
  }
}

TEST(Verdict, is_neither_where_ranks_and_ratio_point_to_different_sides) {
  // Half of b is far below all of a, but its median is above a's.
  std::vector<double> a(49, 9);
  a.insert(a.end(), 2, 10);
  a.insert(a.end(), 49, 100);
  std::vector<double> b(49, 1);
  b.insert(b.end(), 51, 15);
  ASSERT_FALSE(rank_sum_test(a, b).is_above);
  const Judgement judgement = judge_samples(a, b, {}, 1);
  EXPECT_GT(judgement.ratio, 1.05);
  EXPECT_EQ(judgement.verdict, Verdict::cannot_tell);
  EXPECT_FALSE(judgement.is_beyond);
  EXPECT_THAT(judgement.why, HasSubstr("ranks say faster"));
  EXPECT_EQ(judge_samples(b, a, {}, 1).verdict, Verdict::cannot_tell);
}

TEST(Verdict, is_not_what_an_earlier_look_has_shown_of_the_other_side) {
  // Faster in all pairs of the first interim analysis; then slower on average, but with extreme
  // noise.
  std::mt19937_64 chance(3);
  std::size_t round = 0;
  const MeasureOnce measure = [&](Side side, std::size_t) {
    if (side == Side::a) {
      return std::vector{1.0};
    }
    const bool is_early = ++round <= looks_of({}).front();
    return std::vector{is_early ? 0.952 * gauss(chance, 0.015) : 1.2 * gauss(chance, 1)};
  };
  const Judgement judgement = measured(measure).judgement;
  EXPECT_GT(judgement.ratio, 1);
  EXPECT_LE(judgement.p_against, Rules().alpha);
  EXPECT_EQ(judgement.verdict, Verdict::cannot_tell);
  EXPECT_FALSE(judgement.is_beyond);
}

RC_GTEST_PROP(VerdictProperties,
              slower_and_faster_are_where_both_the_test_and_the_ratio_point,
              ()) {
  const auto tenths = [](std::size_t count) {
    const auto drawn =
        *rc::gen::container<std::vector<int>>(count, rc::gen::element(10, 11, 12, 20, 40));
    return std::vector<double>(drawn.begin(), drawn.end());
  };
  const auto count = *rc::gen::inRange<std::size_t>(1, 40);
  const std::vector<double> a = tenths(count);
  const std::vector<double> b = tenths(count);
  const Rules rules{.alpha = 0.5};
  const Judgement samples = judge_samples(a, b, rules, 1);
  BestP best;
  const Judgement pairs = judge_pairs(a, b, rules, best);
  for (const Judgement& judgement : {samples, pairs}) {
    const bool is_above =
        judgement.has_pairs ? best.slower < best.faster : rank_sum_test(a, b).is_above;
    RC_ASSERT(judgement.p <= 1);
    if (judgement.verdict == Verdict::slower) {
      RC_ASSERT(judgement.ratio > 1);
      RC_ASSERT(is_above);
    }
    if (judgement.verdict == Verdict::faster) {
      RC_ASSERT(judgement.ratio < 1);
      RC_ASSERT(!is_above);
    }
  }
  // If the sides are swapped, B is as much slower as the other one was faster.
  BestP swapped;
  RC_ASSERT(judge_pairs(b, a, rules, swapped).p == pairs.p);
  RC_ASSERT(swapped.slower == best.faster);
}

RC_GTEST_PROP(LooksProperties, come_later_and_later_up_to_the_most, ()) {
  const auto rows = *rc::gen::inRange<std::size_t>(1, 500);
  const auto most = *rc::gen::inRange<std::size_t>(0, 500);
  const Rules rules{.rows = rows, .pairs_max = most};
  const std::vector<std::size_t> looks = looks_of(rules);
  RC_ASSERT(looks.empty() == (most < least_pairs(rules)));
  RC_ASSERT(looks.size() <= looks_max);
  RC_ASSERT(std::ranges::is_sorted(looks, std::less_equal<>()));
  if (!looks.empty()) {
    RC_ASSERT(looks.back() == most);
    RC_ASSERT(looks.front() >= least_pairs(rules));
  }
}

TEST(PairedRuns, a_coin_says_who_is_first) {
  std::vector<Side> order;
  const MeasureOnce measure = [&](Side side, std::size_t) {
    order.push_back(side);
    return std::vector{1.0 + 0.5 * static_cast<double>(order.size() % 7)};
  };
  measured(measure, {.seed = 4});
  std::size_t b_first = 0;
  for (std::size_t pair = 0; pair + 1 < order.size(); pair += 2) {
    EXPECT_NE(order[pair], order[pair + 1]);
    b_first += order[pair] == Side::b ? 1U : 0U;
  }
  EXPECT_GT(b_first, order.size() / 8);
  EXPECT_LT(b_first, order.size() * 3 / 8);
}

TEST(PairedRuns, what_is_settled_is_not_measured_any_more) {
  std::map<std::size_t, std::size_t> times;
  std::mt19937_64 chance(1);
  const MeasureOnce measure = [&](Side, std::size_t unit) {
    ++times[unit];
    return std::vector{gauss(chance, unit == 0 ? 0.001 : 0.5)};
  };
  const auto rows = run_in_pairs(
      {{.name = "calm", .rows = {"calm"}}, {.name = "loud", .rows = {"loud"}}}, measure, {});
  EXPECT_EQ(rows[0].judgement.verdict, Verdict::same);
  EXPECT_EQ(rows[1].judgement.verdict, Verdict::cannot_tell);
  EXPECT_LT(times[0], times[1] / 3);
  EXPECT_EQ(rows[1].a.size(), Rules().pairs_max);
}

TEST(PairedRuns, what_cannot_be_measured_says_why_and_stops_no_other) {
  std::size_t failures = 0;
  const MeasureOnce measure = [&](Side side, std::size_t unit) {
    if (unit == 0 && side == Side::b) {
      ++failures;
      throw std::runtime_error("no space");
    }
    return std::vector{1.0, 2.0};
  };
  const auto rows = run_in_pairs(
      {{.name = "x", .rows = {"x", "y"}}, {.name = "z", .rows = {"z", "u"}}}, measure, {});
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(failures, 1U);
  EXPECT_EQ(rows[0].error, "B: no space");
  EXPECT_EQ(rows[1].judgement.verdict, Verdict::cannot_tell);
  EXPECT_EQ(rows[2].judgement.verdict, Verdict::same);
}

TEST(PairedRuns, times_that_are_none_or_too_many_are_said_to_be_so) {
  const auto error_of = [](const std::vector<double>& times) {
    return measured([&](Side, std::size_t) { return times; }).error;
  };
  EXPECT_THAT(error_of({0.0}), HasSubstr("no time"));
  EXPECT_THAT(error_of({1.0, 2.0}), HasSubstr("2 times are there, not 1"));
}

TEST(PairedRuns, end_when_there_is_no_more_time_and_judge_what_there_is) {
  for (const std::size_t pairs : {1U, 40U}) {
    std::size_t asked = 0;
    const Judgement judgement =
        measured(on(machines[0], 1.3, 1), {.is_over = [&] { return ++asked >= pairs; }}).judgement;
    EXPECT_EQ(judgement.verdict, pairs == 1 ? Verdict::cannot_tell : Verdict::slower);
    EXPECT_LE(judgement.pairs, pairs);
  }
}

RC_GTEST_PROP(PairedRunsProperties, the_same_seed_and_times_give_the_same, (std::uint64_t seed)) {
  const Judgement one = judged(machines[2], 1.02, seed, {.pairs_max = 40});
  const Judgement two = judged(machines[2], 1.02, seed, {.pairs_max = 40});
  RC_ASSERT(one.ratio == two.ratio);
  RC_ASSERT(one.p == two.p);
  RC_ASSERT(one.pairs == two.pairs);
}

}  // namespace
}  // namespace lastref::perf
