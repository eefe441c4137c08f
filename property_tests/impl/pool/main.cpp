// The test program of pools, which is also their workers and their tracker.
#include <gtest/gtest.h>

#include <lastref/pool.hpp>

int main(int argc, char** argv) {
  lastref::init(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
