// MutantBuild: the location of the patches that are planted in it.
#include "harness/mutant/mutant_build.hpp"

#include <gtest/gtest.h>

namespace lastref::harness {
namespace {

TEST(MutantBuild, finds_the_patch_of_a_mutant_in_the_folder_of_its_letter) {
  Mutant mutant = {.name = "m", .row = "T7", .origin = {}, .claim = {}, .files = {}};
  EXPECT_EQ(planting_of(std::move(mutant)).patch, "fault_scenarios/mutants/T/m.patch");
}

}  // namespace
}  // namespace lastref::harness
