// The test program of backends, which is also the tracker and the workers.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/worker.hpp>

#include "property_tests/backends/functions.hpp"

int main(int argc, char** argv) {
  lastref::os::KernelOs os({.program = lastref::this_program});
  const std::vector<std::string> arguments(argv, argv + argc);
  if (const auto code =
          lastref::run_if_spawned(os, *lastref::pretend::test_functions(), arguments)) {
    return *code;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
