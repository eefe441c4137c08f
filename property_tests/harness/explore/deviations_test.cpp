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

bool is_at_shared(const Deviation& deviation) {
  return deviation.pause.empty() ? deviation.question == 4 : deviation.pause.front().step == 4;
}

TEST(Deviations, come_first_that_change_the_order_of_steps_on_an_object_of_several_actors) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Deviation> all = deviations_of(clean_run(), seed);
    ASSERT_EQ(all.size(), 9U + 18U);
    const auto last = std::ranges::find_if(all.rbegin(), all.rend(), is_at_shared);
    // As early come one that chooses who begins, and a second pause of the first actor.
    EXPECT_LT(all.rend() - last, 8) << seed;
  }
}

TEST(Deviations, are_the_same_in_any_order) {
  Outcome without_turns = clean_run();
  without_turns.turns.clear();
  const auto key_of = [](const Deviation& each) {
    return std::tuple(each.question, each.answer, each.pause);
  };
  std::set<std::tuple<std::size_t, std::uint32_t, Switches>> ordered;
  std::set<std::tuple<std::size_t, std::uint32_t, Switches>> unordered;
  std::ranges::transform(
      deviations_of(clean_run(), 1), std::inserter(ordered, ordered.end()), key_of);
  std::ranges::transform(
      deviations_of(without_turns, 1), std::inserter(unordered, unordered.end()), key_of);
  EXPECT_EQ(ordered, unordered);
  EXPECT_EQ(ordered.size(), 9U + 18U);
}

}  // namespace
}  // namespace lastref::harness
