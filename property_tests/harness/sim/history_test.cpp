// history_test: histories are read back, refused with the reason, and reduced.
#include "fault_scenarios/support/history.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lastref::harness {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Vocabulary vocabulary = {
    .processes = {"root", "a", "b"},
    .verbs = {{"probe"}, {"put", {{"one", "two"}, {"40", "5000"}}}, {"exit"}}};

OperationList parsed(std::string_view text) {
  return parse_history(vocabulary, text).value();
}

FormError refusal(std::string_view text) {
  return check_history(vocabulary, text).error();
}

TEST(History, is_read_and_written) {
  const OperationList all = parsed("root put one 5000,  then a probe, b exit");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0],
            (HistoryOperation{.process = "root", .verb = "put", .objects = {"one", "5000"}}));
  EXPECT_EQ(all[1],
            (HistoryOperation{.is_then = true, .process = "a", .verb = "probe", .objects = {}}));
  EXPECT_EQ(to_text(all), "root put one 5000, then a probe, b exit");
  EXPECT_THAT(parsed(""), IsEmpty());
}

TEST(History, is_refused_with_the_operation_and_what_may_be_there) {
  EXPECT_EQ(refusal("a probe, c probe"), (FormError{"c probe", "root, a, b"}));
  EXPECT_EQ(refusal("then"), (FormError{"then", "root, a, b"}));
  EXPECT_EQ(refusal("a"), (FormError{"a", "probe, put, exit"}));
  EXPECT_EQ(refusal("a get one"), (FormError{"a get one", "probe, put, exit"}));
  EXPECT_EQ(refusal("a put three 40"), (FormError{"a put three 40", "one, two"}));
  EXPECT_EQ(refusal("a put one"), (FormError{"a put one", "40, 5000"}));
  EXPECT_EQ(refusal("a probe one"), (FormError{"a probe one", "0 objects"}));
  std::string long_one = "a probe";
  for (int times = 0; times < 40; ++times) {
    long_one += ", a probe";
  }
  EXPECT_THAT(refusal(long_one).allowed, HasSubstr("at most"));
}

TEST(History, has_smaller_ones_with_fewer_operations_processes_and_objects) {
  const std::vector<std::string> smaller =
      smaller_histories(vocabulary, "a put two 5000, then b put two 40");
  EXPECT_THAT(smaller, Contains("a put two 5000"));
  EXPECT_THAT(smaller, Contains("a put two 5000, then a put two 40"));
  EXPECT_THAT(smaller, Contains("a put one 5000, then b put one 40"));
  EXPECT_THAT(smaller, Contains("a put one 40, then b put two 40"));
  EXPECT_THAT(smaller, Contains("a put two 5000, b put two 40"));
  EXPECT_THAT(smaller_histories(vocabulary, "root put one 40"), ElementsAre(""));
  EXPECT_THAT(smaller_histories(vocabulary, ""), IsEmpty());
}

TEST(History, names_the_processes_that_the_root_has_to_start) {
  EXPECT_THAT(others_in(vocabulary, parsed("b probe, root probe")), ElementsAre("b"));
}

}  // namespace
}  // namespace lastref::harness
