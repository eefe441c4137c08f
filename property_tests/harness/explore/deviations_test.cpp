// deviations_test: which single deviations of a run come first.
#include "harness/explore/deviations.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

namespace lastref::harness {
namespace {

constexpr NextStep on_shared{.object = 5, .writes = true, .call = 1};
constexpr NextStep on_own{.object = 6, .writes = true, .call = 2};

/// A run of two actors, one after the other: each has nine steps on an object of its own, of which
/// the fifth is one on an object of both.
Outcome clean_run() {
  Outcome clean;
  RunEstimate estimate;
  for (std::uint32_t actor = 0; actor < 2; ++actor) {
    for (int step = 0; step < 9; ++step) {
      NextStep taken = step == 4 ? on_shared : on_own;
      taken.object += step == 4 ? 0 : actor;
      clean.turns.push_back({.first = {.actor = actor, .step = taken},
                             .may_stay = step > 0,
                             .options = 2 - actor,
                             .question = clean.options.size()});
      if (actor == 0) {
        clean.options.push_back(2);
      }
    }
    estimate.push_back({.actor = actor, .object = on_shared.object, .steps = 1});
    estimate.push_back({.actor = actor, .object = on_own.object + actor, .steps = 8});
  }
  clean.estimate = std::make_shared<const RunEstimate>(estimate);
  return clean;
}

constexpr std::size_t single_deviations = 9 + 18;  // Answers and pauses

bool is_at_shared(const Deviation& deviation) {
  return deviation.switches.empty() ? deviation.question == 4
                                    : deviation.switches.front().step == 4;
}

bool is_conflict(const Deviation& deviation) {
  return deviation.switches.size() > 1;
}

TEST(Deviations, come_first_that_change_the_order_of_steps_on_an_object_of_several_actors) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Deviation> all = deviations_of(clean_run(), seed);
    ASSERT_EQ(all.size(), single_deviations + 1);
    // As early come two that change which actor begins, and one for each step on an own object.
    const auto last = std::ranges::find_if(all.rbegin(), all.rend(), is_at_shared);
    EXPECT_LE(all.rend() - last, 10) << seed;
    const auto conflict = std::ranges::find_if(all, is_conflict);
    EXPECT_EQ(std::count_if(all.begin(), conflict, is_at_shared), 3) << seed;
  }
}

TEST(Deviations, pause_an_actor_until_another_one_is_about_to_take_a_conflicting_step) {
  const std::vector<Deviation> all = deviations_of(clean_run(), 1);
  const auto found = std::ranges::find_if(all, is_conflict);
  ASSERT_NE(found, all.end());
  EXPECT_EQ(found->switches,
            (Switches{{.kind = Switch::Kind::pause, .from = 0, .step = 4},
                      {.from = 1, .step = 4, .to = 0}}));
  EXPECT_EQ(std::ranges::count_if(all, is_conflict), 1);
}

TEST(Deviations, of_one_actor_are_the_same_in_any_order) {
  Outcome without_turns = clean_run();
  without_turns.turns.clear();
  const auto key_of = [](const Deviation& each) {
    return std::tuple(each.question, each.answer, each.switches);
  };
  std::set<std::tuple<std::size_t, std::uint32_t, Switches>> ordered;
  std::set<std::tuple<std::size_t, std::uint32_t, Switches>> unordered;
  for (const Deviation& each : deviations_of(clean_run(), 1)) {
    if (!is_conflict(each)) {
      ordered.insert(key_of(each));
    }
  }
  std::ranges::transform(
      deviations_of(without_turns, 1), std::inserter(unordered, unordered.end()), key_of);
  EXPECT_EQ(ordered, unordered);
  EXPECT_EQ(ordered.size(), single_deviations);
}

}  // namespace
}  // namespace lastref::harness
