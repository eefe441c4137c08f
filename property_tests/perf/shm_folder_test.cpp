// shm_folder_test: folders of benchmarks do not outlive them, or not longer than the next start.
#include "bench/shm_folder.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace lastref::bench {
namespace {

namespace fs = std::filesystem;

TEST(ShmFolder, is_removed_with_its_contents) {
  std::string path;
  {
    const ShmFolder folder;
    path = folder.path();
    std::ofstream(path + "/file") << "text";
  }
  EXPECT_FALSE(fs::exists(path));
}

/// The kernel releases the lock of a process that is killed.
TEST(ShmFolder, without_a_lock_is_removed_by_the_next_start) {
  const ShmFolder used;
  const std::string unlocked = used.path() + "-unlocked";
  fs::create_directories(unlocked + "/in_it");
  remove_what_killed_benches_left();
  EXPECT_FALSE(fs::exists(unlocked));
  EXPECT_TRUE(fs::exists(used.path()));
}

}  // namespace
}  // namespace lastref::bench
