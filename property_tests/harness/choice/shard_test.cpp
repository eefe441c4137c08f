// Shards: each item of a plan is in one of them, and they cost about the same.
#include "harness/choice/shard.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace lastref::harness {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// What each part of a plan costs.
std::vector<double> costs_of_parts(const std::vector<double>& costs,
                                   std::size_t parts,
                                   std::uint64_t first) {
  std::vector<double> all;
  for (std::size_t number = 1; number <= parts; ++number) {
    double& sum = all.emplace_back();
    for (const std::size_t item : items_of({.number = number, .all = parts}, costs, first)) {
      sum += costs.at(item);
    }
  }
  return all;
}

RC_GTEST_PROP(Shards, have_each_item_once_and_cost_about_the_same, ()) {
  const auto costs = *rc::gen::container<std::vector<double>>(
      rc::gen::map(rc::gen::inRange(0, 100), [](int each) { return each; }));
  const auto parts = *rc::gen::inRange<std::size_t>(1, 12);
  const auto first = *rc::gen::arbitrary<std::uint64_t>();
  std::vector<std::size_t> found;
  for (std::size_t number = 1; number <= parts; ++number) {
    const auto part = items_of({.number = number, .all = parts}, costs, first);
    RC_ASSERT(std::ranges::is_sorted(part));
    found.insert(found.end(), part.begin(), part.end());
  }
  std::ranges::sort(found);
  std::vector<std::size_t> expected(costs.size());
  std::iota(expected.begin(), expected.end(), 0);
  RC_ASSERT(found == expected);
  const auto [least, most] = std::ranges::minmax(costs_of_parts(costs, parts, first));
  const double dearest = costs.empty() ? 0 : std::ranges::max(costs);
  // The cheapest part may have fewer items than there are parts.
  RC_ASSERT(most - least <= dearest);
}

TEST(Shards, take_items_in_turn) {
  for (std::size_t item = 0; item < 20; ++item) {
    EXPECT_TRUE(Shard().has(item));
    for (std::size_t number = 1; number <= 3; ++number) {
      EXPECT_EQ((Shard{.number = number, .all = 3}).has(item), number == item % 3 + 1);
    }
  }
}

TEST(Shards, of_equal_costs_take_turns) {
  const std::vector<double> costs(7, 0.5);
  EXPECT_THAT(items_of({.number = 1, .all = 3}, costs, 0), ElementsAre(0, 3, 6));
  EXPECT_THAT(items_of({.number = 2, .all = 3}, costs, 0), ElementsAre(1, 4));
  EXPECT_THAT(items_of({.number = 2, .all = 3}, costs, 1), ElementsAre(0, 3, 6));
  EXPECT_THAT(items_of({.number = 3, .all = 3}, std::vector<double>(2), 0), IsEmpty());
  EXPECT_THAT(items_of({.number = 1, .all = SIZE_MAX}, costs, SIZE_MAX), SizeIs(1));
}

TEST(Shards, give_an_item_that_takes_long_to_a_shard_of_its_own) {
  EXPECT_THAT(items_of({.number = 1, .all = 2}, {1, 1, 10, 1}, 0), ElementsAre(2));
  EXPECT_THAT(items_of({.number = 2, .all = 2}, {1, 1, 10, 1}, 0), ElementsAre(0, 1, 3));
}

TEST(Shards, are_only_parts_that_exist) {
  EXPECT_EQ(parse_shard("2/8").value_or(Shard{}), (Shard{.number = 2, .all = 8}));
  EXPECT_EQ(to_text({.number = 2, .all = 8}), "2/8");
  for (const char* text : {"",
                           "1",
                           "/",
                           "1/",
                           "/1",
                           "0/1",
                           "2/1",
                           "1/0",
                           "1/2/3",
                           "-1/2",
                           "a/b",
                           "1/99999999999999999999"}) {
    EXPECT_FALSE(parse_shard(text)) << text;
  }
}

}  // namespace
}  // namespace lastref::harness
