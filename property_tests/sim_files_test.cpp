// sim_files_test: what the contract cannot ask of the simulated kernel for want of other users and
// of a small file system.
#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include <lastref/owners.hpp>

#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {
namespace {

constexpr std::uint32_t one = 1001;
constexpr std::uint32_t other = 1002;

class SimFiles : public testing::Test {
 protected:
  std::shared_ptr<Task> task_of(std::uint32_t user) {
    auto task = kernel_.make_task(nullptr, "user");
    task->user = user;
    task->umask = 0;
    return task;
  }
  void create(const std::shared_ptr<Task>& task, const std::string& path, std::string_view text) {
    const auto fd = kernel_.open(*task, path, {.write = true, .create = true});
    ASSERT_TRUE(fd);
    EXPECT_TRUE(kernel_.write(*task, *fd, os::bytes_of(text)));
    EXPECT_TRUE(kernel_.close(*task, *fd));
  }
  /// The errno, or 0.
  int rename(const std::shared_ptr<Task>& task, const std::string& from, const std::string& to) {
    const auto renamed = kernel_.rename(*task, from, to);
    return renamed ? 0 : renamed.error();
  }
  std::uint64_t free_space() { return kernel_.free_space(*root_, "/tmp").value_or(0); }

  SimKernel kernel_;
  std::shared_ptr<Task> root_ = task_of(0);
  std::shared_ptr<Task> one_ = task_of(one);
  std::shared_ptr<Task> other_ = task_of(other);
};

TEST_F(SimFiles, in_a_sticky_folder_nobody_renames_or_replaces_what_is_anothers) {
  create(one_, "/tmp/one's", "1");
  create(other_, "/tmp/other's", "2");
  EXPECT_EQ(rename(other_, "/tmp/one's", "/tmp/new"), EPERM);
  EXPECT_EQ(rename(other_, "/tmp/other's", "/tmp/one's"), EPERM);
  EXPECT_EQ(rename(other_, "/tmp/other's", "/tmp/new"), 0);
  EXPECT_EQ(rename(root_, "/tmp/new", "/tmp/one's"), 0);
}

TEST_F(SimFiles, both_folders_have_to_be_writable_and_a_folder_that_changes_its_place_too) {
  ASSERT_TRUE(kernel_.make_folder(*one_, "/tmp/one", 0755));
  ASSERT_TRUE(kernel_.make_folder(*other_, "/tmp/other", 0777));
  ASSERT_TRUE(kernel_.make_folder(*one_, "/tmp/other/shut", 0555));
  create(one_, "/tmp/one/a", "1");
  create(other_, "/tmp/other/b", "2");
  EXPECT_EQ(rename(other_, "/tmp/one/a", "/tmp/other/a"), EACCES);
  EXPECT_EQ(rename(other_, "/tmp/other/b", "/tmp/one/b"), EACCES);
  EXPECT_EQ(rename(other_, "/tmp/other/b", "/tmp/one/a"), EACCES);
  EXPECT_EQ(rename(one_, "/tmp/other/shut", "/tmp/one/shut"), EACCES);
  EXPECT_EQ(rename(one_, "/tmp/other/shut", "/tmp/other/still_shut"), 0);
  EXPECT_EQ(rename(one_, "/tmp/other/b", "/tmp/one/a"), 0);
}

TEST_F(SimFiles, a_replaced_file_gives_back_its_bytes_and_its_inode) {
  constexpr std::size_t page = 4096;
  kernel_.limits.bytes = 3 * page;
  create(root_, "/tmp/a", "1234");
  create(root_, "/tmp/b", "123");
  EXPECT_EQ(free_space(), page);
  EXPECT_EQ(rename(root_, "/tmp/a", "/tmp/a"), 0);
  EXPECT_EQ(free_space(), page);
  EXPECT_EQ(rename(root_, "/tmp/a", "/tmp/b"), 0);
  EXPECT_EQ(free_space(), 2 * page);
  EXPECT_TRUE(kernel_.unlink(*root_, "/tmp/b"));
  EXPECT_EQ(free_space(), 3 * page);
}

TEST_F(SimFiles, a_rename_needs_no_inode_and_a_replaced_folder_gives_its_own_back) {
  // Besides /, which nobody counts: /dev, /dev/shm, /tmp, /var and /var/tmp.
  kernel_.limits.inodes = 5 + 3;
  ASSERT_TRUE(kernel_.make_folder(*root_, "/tmp/a", 0700));
  ASSERT_TRUE(kernel_.make_folder(*root_, "/tmp/b", 0700));
  create(root_, "/tmp/file", "");
  const os::OpenOptions create_one{.write = true, .create = true};
  EXPECT_EQ(kernel_.open(*root_, "/tmp/c", create_one).error(), ENOSPC);
  EXPECT_EQ(rename(root_, "/tmp/file", "/tmp/a/file"), 0);
  EXPECT_EQ(kernel_.open(*root_, "/tmp/c", create_one).error(), ENOSPC);
  EXPECT_EQ(rename(root_, "/tmp/a", "/tmp/b"), 0);
  EXPECT_TRUE(kernel_.open(*root_, "/tmp/c", create_one));
  EXPECT_FALSE(kernel_.open(*root_, "/tmp/d", create_one));
}

TEST_F(SimFiles, a_renamed_file_is_the_newest_of_its_folder) {
  for (const char* const name : {"a", "b", "c"}) {
    create(root_, std::string("/tmp/") + name, "");
  }
  EXPECT_EQ(rename(root_, "/tmp/a", "/tmp/d"), 0);
  const auto folder = kernel_.open(*root_, "/tmp", {.folder = true});
  std::string names;
  const auto entries = kernel_.read_folder(*root_, *folder);
  ASSERT_TRUE(entries);
  for (const os::FolderEntry& entry : *entries) {
    names += entry.name;
  }
  EXPECT_EQ(names, "dcb");
}

TEST_F(SimFiles, free_space_is_never_less_than_none_nor_more_than_a_signed_number) {
  EXPECT_EQ(free_space(), (std::uint64_t{1} << 63U) - 1) << "without a limit";
  create(root_, "/tmp/a", "1234");
  kernel_.limits.bytes = 2;
  EXPECT_EQ(free_space(), 0U);
}

}  // namespace
}  // namespace lastref::harness::sim
