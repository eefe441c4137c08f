#include "bench/perf/machine.hpp"

#include <gtest/gtest.h>

namespace lastref::perf {
namespace {

TEST(MachineTest, says_what_it_is) {
  const Machine machine = this_machine();
  EXPECT_GE(machine.cores, 1U);
  EXPECT_FALSE(machine.kernel.empty());
  EXPECT_NE(name_of(machine).find(machine.kernel), std::string::npos) << name_of(machine);
}

TEST(MachineTest, is_named_alike_whatever_its_load) {
  Machine machine = this_machine();
  const std::string name = name_of(machine);
  machine.load += 1;
  EXPECT_EQ(name_of(machine), name);
}

TEST(MachineTest, has_a_name_where_nothing_is_told) {
  EXPECT_EQ(name_of({.processor = "", .cores = 1, .kernel = "6.1", .governor = ""}),
            "unknown processor, 1 cores, Linux 6.1, no governor told");
}

}  // namespace
}  // namespace lastref::perf
