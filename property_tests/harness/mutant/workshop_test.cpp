// Workshop: which files of a build the tests of a list need.
#include "harness/mutant/workshop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lastref::harness {
namespace {

TEST(Workshop, reads_from_a_list_of_tests_which_files_of_the_build_they_need) {
  constexpr std::string_view list = R"({"tests": [
    {"command": ["/x/build/mutants/tree/build/ci/property_tests/a_test", "--filter=A"]},
    {"command": ["/x/build/ci/property_tests/a_test"]},
    {"command": ["cmake", "-DPROGRAM=/x/build/ci/bin/lastref", 7]},
    {"name": "b_NOT_BUILT"}, 3]})";
  EXPECT_THAT(files_of_tests(list), testing::ElementsAre("bin/lastref", "property_tests/a_test"));
}

TEST(Workshop, reads_nothing_from_what_is_no_list) {
  EXPECT_THAT(files_of_tests("No tests"), testing::IsEmpty());
  EXPECT_THAT(files_of_tests("[]"), testing::IsEmpty());
}

TEST(Workshop, finds_the_patch_of_a_mutant_in_the_folder_of_its_letter) {
  Mutant mutant = {.name = "m", .row = "T7", .origin = {}, .claim = {}, .files = {}};
  EXPECT_EQ(planting_of(std::move(mutant)).patch, "fault_scenarios/mutants/T/m.patch");
}

}  // namespace
}  // namespace lastref::harness
