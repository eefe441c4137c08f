// Mutants: their files are read, or refused with a reason; and the order of the rows.
#include "harness/spec/mutant.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lastref::harness {
namespace {

const std::string header = "Row: T7\nOrigin: BUGS 48\nClaim: It ends.\n\n";
const std::string change =
    "--- a/impl/tracker/x.cpp\n+++ b/impl/tracker/x.cpp\n@@ -1 +1 @@\n-a\n+b\n";

TEST(Mutant, is_read_from_its_file) {
  const auto mutant = parse_mutant("m", header + change);
  ASSERT_TRUE(mutant);
  EXPECT_EQ(mutant->name, "m");
  EXPECT_EQ(mutant->row, "T7");
  EXPECT_EQ(mutant->origin, "BUGS 48");
  EXPECT_EQ(mutant->claim, "It ends.");
  EXPECT_EQ(mutant->files, std::vector<std::string>{"impl/tracker/x.cpp"});
}

struct Refused {
  std::string name;
  std::string text;
  std::string why;
};

class RefusedMutant : public testing::TestWithParam<Refused> {};

TEST_P(RefusedMutant, says_why) {
  const auto mutant = parse_mutant("m", GetParam().text);
  ASSERT_FALSE(mutant);
  EXPECT_EQ(mutant.error().code, std::errc::invalid_argument);
  EXPECT_EQ(mutant.error().subject, "m: " + GetParam().why);
}

INSTANTIATE_TEST_SUITE_P(
    Mutant,
    RefusedMutant,
    testing::Values(
        Refused{"empty", "", "says nothing after Row: "},
        Refused{"no_claim", "Row: T7\nOrigin: x\n\n" + change, "says nothing after Claim: "},
        Refused{
            "no_empty_line", "Row: T7\n" + change, "not a header line: --- a/impl/tracker/x.cpp"},
        Refused{"twice", "Row: T7\nRow: T8\n", "said twice: Row: T8"},
        Refused{"no_row", "Row: seven\nOrigin: x\nClaim: y\n\n" + change, "not a row: seven"},
        Refused{"no_number", "Row: T\nOrigin: x\nClaim: y\n\n" + change, "not a row: T"},
        Refused{"no_change", header, "changes nothing"},
        Refused{"a_test",
                header + "--- a/property_tests/x.cpp\n",
                "changes what is not in impl: property_tests/x.cpp"},
        Refused{
            "a_way_out", header + "--- a/impl/../x\n", "changes what is not in impl: impl/../x"}),
    [](const auto& tried) { return tried.param.name; });

TEST(Mutant, its_name_is_a_plain_word) {
  EXPECT_FALSE(parse_mutant("m; exit", header + change));
}

TEST(Mutant, rows_are_in_the_order_of_their_numbers) {
  EXPECT_TRUE(row_is_before("T9", "T10"));
  EXPECT_FALSE(row_is_before("T10", "T9"));
  EXPECT_TRUE(row_is_before("R2", "T1"));
  EXPECT_FALSE(row_is_before("T1", "T1"));
}

TEST(Mutant, that_lies_with_others_than_those_of_its_row_is_an_error) {
  const std::filesystem::path folder = testing::TempDir() + "lastref_mutants";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "T");
  std::ofstream(folder / "T" / "m.patch") << header + change;
  EXPECT_TRUE(read_mutants(folder));
  std::filesystem::rename(folder / "T", folder / "R");
  EXPECT_THAT(describe(read_mutants(folder).error()), testing::HasSubstr("it is T/m.patch"));
  std::filesystem::remove_all(folder);
}

TEST(Mutant, a_folder_without_any_is_an_error) {
  EXPECT_FALSE(read_mutants(testing::TempDir() + "no_such_folder"));
}

}  // namespace
}  // namespace lastref::harness
