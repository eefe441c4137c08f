#include "bench/perf/bisection.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <stdexcept>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace lastref::perf {
namespace {

/// Commits "0" to "n", of which those from `slow` on are slow; "0" is good.
struct World {
  std::size_t count = 1;
  std::size_t slow = 1;
  std::set<std::size_t> unmeasurable = {};
  std::map<std::size_t, int> undecided = {};  ///< How often a commit gives no answer at first.
  std::size_t asked = 0;

  BisectionOptions options() const {
    BisectionOptions options{.good = "0", .after = {}};
    for (std::size_t i = 1; i <= count; ++i) {
      options.after.push_back(std::to_string(i));
    }
    return options;
  }

  Answer ask(const std::string& older, const std::string& newer) {
    ++asked;
    const std::size_t a = std::stoul(older);
    const std::size_t b = std::stoul(newer);
    if (unmeasurable.contains(a) || unmeasurable.contains(b)) {
      return Answer::cannot_be_measured;
    }
    if (int& times = undecided[b]; times > 0) {
      --times;
      return Answer::cannot_tell;
    }
    return a < slow && b >= slow ? Answer::slower : Answer::not_slower;
  }

  Bisected search() {
    return bisect(options(),
                  [this](const auto& older, const auto& newer) { return ask(older, newer); });
  }
};

World any_world() {
  World world;
  world.count = *rc::gen::inRange<std::size_t>(1, 200);
  world.slow = *rc::gen::inRange<std::size_t>(1, world.count + 1);
  return world;
}

RC_GTEST_PROP(Bisection, blames_the_first_slow_commit, ()) {
  World world = any_world();
  const Bisected found = world.search();
  RC_ASSERT(found.suspects == std::vector{std::to_string(world.slow)});
  RC_ASSERT(found.before == std::to_string(world.slow - 1));
  RC_ASSERT(found.confirmed == Answer::slower);
  RC_ASSERT(found.asked == world.asked);
  RC_ASSERT(world.asked <= static_cast<std::size_t>(std::bit_width(world.count)) + 2);
}

RC_GTEST_PROP(Bisection, asks_again_what_could_not_be_told, ()) {
  World world = any_world();
  for (std::size_t i = 1; i <= world.count; ++i) {
    world.undecided[i] = *rc::gen::inRange(0, 3);
  }
  const Bisected found = world.search();
  RC_ASSERT(found.suspects == std::vector{std::to_string(world.slow)});
}

RC_GTEST_PROP(Bisection, keeps_whom_it_passes_over_as_suspects, ()) {
  World world = any_world();
  const auto passed_over =
      *rc::gen::container<std::set<std::size_t>>(rc::gen::inRange<std::size_t>(1, world.count + 1));
  for (const std::size_t commit : passed_over) {
    if (commit != world.count && *rc::gen::arbitrary<bool>()) {
      world.unmeasurable.insert(commit);
    } else if (commit != world.count) {
      world.undecided[commit] = 1'000'000;
    }
  }
  const Bisected found = world.search();
  RC_ASSERT(std::ranges::count(found.suspects, std::to_string(world.slow)) == 1);
  // All suspects but the last are commits without an answer.
  for (std::size_t i = 0; i + 1 < found.suspects.size(); ++i) {
    RC_ASSERT(passed_over.contains(std::stoul(found.suspects[i])));
  }
  RC_ASSERT(!passed_over.contains(std::stoul(found.before)));
  RC_ASSERT(found.confirmed == Answer::slower);
}

TEST(Bisection, has_nothing_to_find_where_the_ends_are_alike) {
  World world{.count = 8, .slow = 9};
  EXPECT_EQ(world.search().ends, Answer::not_slower);
  EXPECT_EQ(world.asked, 1U);
}

TEST(Bisection, does_not_begin_where_the_ends_cannot_be_told) {
  World world{.count = 8, .slow = 4};
  world.undecided[8] = 3;
  EXPECT_EQ(world.search().ends, Answer::cannot_tell);
  world.unmeasurable.insert(8);
  EXPECT_EQ(world.search().ends, Answer::cannot_be_measured);
}

TEST(Bisection, sees_that_a_wrong_answer_led_it_astray) {
  World world{.count = 8, .slow = 3};
  const Bisected found = bisect(world.options(), [&](const auto& older, const auto& newer) {
    // Noise, once: 4 seemed as fast as 0.
    return newer == "4" ? Answer::not_slower : world.ask(older, newer);
  });
  EXPECT_EQ(found.suspects, std::vector<std::string>{"5"});
  EXPECT_EQ(found.confirmed, Answer::not_slower);
}

TEST(Bisection, ends_with_what_could_not_compare) {
  World world{.count = 8, .slow = 3};
  const auto ask = [&](const std::string& older, const std::string& newer) {
    return newer == "4" ? throw std::runtime_error("killed") : world.ask(older, newer);
  };
  EXPECT_THROW(bisect(world.options(), ask), std::runtime_error);
}

}  // namespace
}  // namespace lastref::perf
