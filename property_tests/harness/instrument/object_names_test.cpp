// object_names_test: the names of objects in plans, which are the same on every machine and in
// every run.
#include <string>

#include <gtest/gtest.h>

#include "harness/instrument/fd_names.hpp"

namespace lastref::harness {
namespace {

TEST(ObjectNames, hold_nothing_of_machine_pid_or_chance) {
  EXPECT_EQ(object_of("/dev/shm/run/0123456789abcdef0123456789abcdef"), "tree");
  EXPECT_EQ(object_of("/dev/shm/run/a.bin"), "a.bin");
  EXPECT_EQ(object_of("/a/b/"), "b");
  EXPECT_EQ(object_of("plain"), "plain");
}

TEST(ObjectNames, of_arrays_and_their_folders_keep_the_context_alone) {
  const std::string chance = "0123456789abcdef0123456789abcdef";
  const std::string folder = "/dev/shm/lastref_memmapping_folder_12_" + chance + "_";
  EXPECT_EQ(object_of(folder + "fit"), "arrays:fit");
  EXPECT_EQ(object_of(folder + "a_b"), "arrays:a_b");
  EXPECT_EQ(object_of(folder + "fit/"), "arrays:fit");
  EXPECT_EQ(object_of(folder + chance), "arrays");
  EXPECT_EQ(object_of(folder + "fit/12-345-" + chance + ".npy"), "array");
  EXPECT_EQ(object_of(folder + "fit/12-345-" + chance + ".npy.part"), "array.part");
  EXPECT_EQ(object_of("/tmp/lastref_probe_" + chance), "probe");
}

TEST(ObjectNames, of_caches_keep_what_their_files_are_for) {
  const std::string base = "/tmp/caches/12-0123456789abcdef0123456789abcdef";
  EXPECT_EQ(object_of(base + ".cache"), "cache");
  EXPECT_EQ(object_of(base + ".lock"), "cache.lock");
  EXPECT_EQ(object_of(base + ".part"), "cache.part");
}

TEST(ObjectNames, that_only_look_like_those_stay_what_they_are) {
  const std::string chance = "0123456789abcdef0123456789abcdef";
  for (const std::string& name : {"12-345-" + chance,
                                  "12-345-" + chance + ".npy.old",
                                  "12-" + chance + ".npy",
                                  "-345-" + chance + ".npy",
                                  "12-x-" + chance + ".npy",
                                  "12-345-x" + chance.substr(1) + ".npy",
                                  "12-" + chance + ".cache.old",
                                  chance + ".cache",
                                  "lastref_memmapping_folder_" + chance + "_fit",
                                  "lastref_memmapping_folder_12_" + chance,
                                  "lastref_memmapping_folder_12_" + chance + "x",
                                  "lastref_probe_" + chance + "x",
                                  std::string("lastref_probe_")}) {
    EXPECT_EQ(object_of("/dev/shm/" + name), name);
  }
}

}  // namespace
}  // namespace lastref::harness
