// callers_test: the stack of the product's calls, between two frames of the harness.
#include "harness/instrument/callers.hpp"

#include <cstdint>

#include <gtest/gtest.h>

namespace lastref::callers_fixture {
namespace {

using Callers = std::uint32_t;

// Each function does something after its call: a tail call would leave no frame on the stack.
volatile std::uint32_t calls = 0;

Callers counted(Callers callers) {
  calls = calls + 1;
  return callers;
}

[[gnu::noinline]] Callers inner() {
  return counted(harness::callers_here());
}

[[gnu::noinline]] Callers one_way() {
  return counted(inner());
}

[[gnu::noinline]] Callers other_way() {
  return counted(inner());
}

[[gnu::noinline]] Callers at_depth(int depth) {
  return counted(depth == 0 ? inner() : at_depth(depth - 1));
}

}  // namespace
}  // namespace lastref::callers_fixture

namespace lastref::harness {
namespace {

using namespace callers_fixture;

[[gnu::noinline]] Callers harness_calls_inner() {
  return counted(inner());
}

[[gnu::noinline]] Callers harness_is_called_back() {
  return counted(harness_calls_inner());
}

TEST(Callers, are_known_in_a_program_with_symbols) {
  EXPECT_TRUE(knows_callers());
  EXPECT_NE(inner(), 0U);
}

TEST(Callers, of_every_round_of_a_loop_are_the_same) {
  const Callers first = one_way();
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(one_way(), first);
  }
}

TEST(Callers, tell_the_ways_to_one_call_apart) {
  EXPECT_NE(one_way(), other_way());
  EXPECT_NE(one_way(), inner());
}

TEST(Callers, of_a_call_that_calls_itself_are_the_same_at_every_depth) {
  EXPECT_EQ(at_depth(1), at_depth(2));
  EXPECT_EQ(at_depth(2), at_depth(50));
  EXPECT_EQ(at_depth(2), at_depth(500)) << "longer than what is kept";
}

TEST(Callers, end_at_the_code_of_the_harness) {
  const Callers direct = harness_calls_inner();
  EXPECT_EQ(harness_is_called_back(), direct);
}

TEST(Callers, are_none_where_the_product_has_no_part) {
  EXPECT_EQ(callers_here(), 0U);
}

}  // namespace
}  // namespace lastref::harness
