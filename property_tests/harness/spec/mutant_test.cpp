// Mutants: their files are read, or refused with a reason; and the order of the rows.
#include "harness/spec/mutant.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/support/transcript.hpp"

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
};

class RefusedMutant : public testing::TestWithParam<Refused> {};

TEST_P(RefusedMutant, says_why) {
  const auto mutant = parse_mutant("m", GetParam().text);
  ASSERT_FALSE(mutant);
  EXPECT_EQ(mutant.error().code, std::errc::invalid_argument);
  pretend::expect_transcript(mutant.error().subject);
}

INSTANTIATE_TEST_SUITE_P(
    Mutant,
    RefusedMutant,
    testing::Values(Refused{"empty", ""},
                    Refused{"no_claim", "Row: T7\nOrigin: x\n\n" + change},
                    Refused{"no_empty_line", "Row: T7\n" + change},
                    Refused{"twice", "Row: T7\nRow: T8\n"},
                    Refused{"no_row", "Row: seven\nOrigin: x\nClaim: y\n\n" + change},
                    Refused{"no_number", "Row: T\nOrigin: x\nClaim: y\n\n" + change},
                    Refused{"no_change", header},
                    Refused{"a_test", header + "--- a/property_tests/x.cpp\n"},
                    Refused{"a_way_out", header + "--- a/impl/../x\n"}),
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
  const std::string refusal = describe(read_mutants(folder).error());
  EXPECT_THAT(refusal, testing::HasSubstr("T/m.patch"));
  pretend::expect_transcript(pretend::with_replacements(refusal, {{folder, "FOLDER"}}));
  std::filesystem::remove_all(folder);
}

TEST(Mutant, a_folder_without_any_is_an_error) {
  EXPECT_FALSE(read_mutants(testing::TempDir() + "no_such_folder"));
}

}  // namespace
}  // namespace lastref::harness
