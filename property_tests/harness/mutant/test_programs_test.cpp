// Test programs: those with tests of a row are found in lists of CMake and in sources.
#include "harness/mutant/test_programs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lastref::harness {
namespace {

constexpr std::string_view list = R"(
lastref_test(one_test properties 60 SOURCES
  a_test.cpp
  b_test.cpp
  LINKS harness)
lastref_test(two_test properties 60 SOURCES b_test.cpp)
add_test(NAME bench.grows_E12
  COMMAND x)
add_test(NAME other COMMAND y_T9)
)";

TEST(TestPrograms, are_those_whose_list_has_the_source) {
  EXPECT_THAT(programs_of(list, "a_test.cpp"), testing::ElementsAre("one_test"));
  EXPECT_THAT(programs_of(list, "b_test.cpp"), testing::ElementsAre("one_test", "two_test"));
  EXPECT_THAT(programs_of(list, "test.cpp"), testing::IsEmpty());
}

TEST(TestPrograms, are_not_all_that_can_be_a_test) {
  EXPECT_TRUE(adds_test_of(list, "E12"));
  EXPECT_FALSE(adds_test_of(list, "E1"));
  EXPECT_FALSE(adds_test_of(list, "T9"));
}

TEST(TestPrograms, of_rows_of_the_checkout_are_found) {
  const auto tracker = targets_naming(LASTREF_CHECKOUT, "T7");
  ASSERT_TRUE(tracker);
  EXPECT_THAT(*tracker, testing::StartsWith("lastref_program "));
  EXPECT_THAT(*tracker, testing::HasSubstr(" tracker_test"));
  EXPECT_EQ(targets_naming(LASTREF_CHECKOUT, "E12").value_or(""), "all");
  EXPECT_EQ(targets_naming(LASTREF_CHECKOUT, "T0").value_or("x"), "");
}

TEST(TestPrograms, of_no_checkout_are_an_error) {
  EXPECT_FALSE(targets_naming("/nowhere", "T7"));
}

}  // namespace
}  // namespace lastref::harness
