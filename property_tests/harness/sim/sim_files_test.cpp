// sim_files_test: properties of the simulated kernel that the contract cannot test, because they
// need other users or a small file system.
#include <array>
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
  std::shared_ptr<SimProcess> process_of(std::uint32_t user) {
    auto process = kernel_.make_process(nullptr, "user");
    process->user = user;
    process->umask = 0;
    return process;
  }
  void create(const std::shared_ptr<SimProcess>& process,
              const std::string& path,
              std::string_view text) {
    const auto fd = kernel_.open(*process, path, {.write = true, .create = true});
    ASSERT_TRUE(fd);
    EXPECT_TRUE(kernel_.write(*process, *fd, os::bytes_of(text)));
    EXPECT_TRUE(kernel_.close(*process, *fd));
  }
  /// The errno, or 0.
  int rename(const std::shared_ptr<SimProcess>& process,
             const std::string& from,
             const std::string& to) {
    const auto renamed = kernel_.rename(*process, from, to);
    return renamed ? 0 : renamed.error();
  }
  int rename_new(const std::string& from, const std::string& to) {
    const auto renamed = kernel_.rename_new(*root_, from, to);
    return renamed ? 0 : renamed.error();
  }
  int punch_hole(os::Fd fd, std::uint64_t offset, std::uint64_t size) {
    const auto punched = kernel_.punch_hole(*root_, fd, offset, size);
    return punched ? 0 : punched.error();
  }
  std::uint64_t free_space() { return kernel_.free_space(*root_, "/tmp").value_or(0); }

  SimKernel kernel_;
  std::shared_ptr<SimProcess> root_ = process_of(0);
  std::shared_ptr<SimProcess> one_ = process_of(one);
  std::shared_ptr<SimProcess> other_ = process_of(other);
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
  // Not counting /: /dev, /dev/shm, /tmp, /var and /var/tmp.
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

TEST_F(SimFiles, a_hole_gives_back_the_whole_pages_in_it_and_a_write_takes_them_again) {
  constexpr std::uint64_t page = 4096;
  constexpr std::uint64_t before = 20 * page;
  kernel_.limits.bytes = before;
  const auto fd = kernel_.open(*root_, "/tmp/a", {.write = true, .create = true});
  ASSERT_TRUE(fd);
  const std::string text(4 * page + 1, 'x');
  EXPECT_EQ(kernel_.write(*root_, *fd, os::bytes_of(text)), text.size());
  EXPECT_EQ(free_space(), before - 5 * page);
  // Zeroing a part of a page gives nothing back.
  EXPECT_EQ(punch_hole(*fd, 1, page), 0);
  EXPECT_EQ(punch_hole(*fd, 0, page - 1), 0);
  EXPECT_EQ(free_space(), before - 5 * page);
  EXPECT_EQ(punch_hole(*fd, 1, 3 * page - 1), 0);
  EXPECT_EQ(free_space(), before - 3 * page);
  EXPECT_EQ(punch_hole(*fd, page, 2 * page), 0) << "again";
  EXPECT_EQ(free_space(), before - 3 * page);
  // The last page ends after the end of the file.
  EXPECT_EQ(punch_hole(*fd, 4 * page, 1), 0);
  EXPECT_EQ(free_space(), before - 3 * page);
  EXPECT_EQ(punch_hole(*fd, 4 * page, 100 * page), 0);
  EXPECT_EQ(free_space(), before - 2 * page);
  EXPECT_EQ(kernel_.write_at(*root_, *fd, os::bytes_of("y"), 2 * page), 1U);
  EXPECT_EQ(free_space(), before - 3 * page);
  EXPECT_EQ(kernel_.status(*root_, *fd)->size, text.size());
  EXPECT_TRUE(kernel_.unlink(*root_, "/tmp/a"));
  EXPECT_EQ(free_space(), before);
}

TEST_F(SimFiles, what_is_punched_out_is_space_for_others) {
  constexpr std::uint64_t page = 4096;
  kernel_.limits.bytes = 2 * page;
  const auto fd = kernel_.open(*root_, "/tmp/a", {.write = true, .create = true});
  ASSERT_TRUE(fd);
  EXPECT_EQ(kernel_.write(*root_, *fd, os::bytes_of(std::string(2 * page, 'x'))), 2 * page);
  const auto late = kernel_.open(*root_, "/tmp/b", {.write = true, .create = true});
  ASSERT_TRUE(late);
  EXPECT_EQ(kernel_.write(*root_, *late, os::bytes_of("1")).error(), ENOSPC);
  EXPECT_EQ(punch_hole(*fd, 0, page), 0);
  EXPECT_EQ(kernel_.write(*root_, *late, os::bytes_of("1")), 1U);
  EXPECT_EQ(kernel_.write_at(*root_, *fd, os::bytes_of("x"), 0).error(), ENOSPC);
}

TEST_F(SimFiles, a_rename_stays_on_its_file_system_whatever_has_the_new_name) {
  ASSERT_TRUE(kernel_.make_folder(*root_, "/tmp/mounted", 0700));
  kernel_.mount("/tmp/mounted");
  create(root_, "/tmp/a", "1");
  create(root_, "/tmp/mounted/b", "2");
  EXPECT_EQ(rename(root_, "/tmp/a", "/tmp/mounted/new"), EXDEV);
  EXPECT_EQ(rename(root_, "/tmp/missing", "/tmp/mounted/new"), EXDEV);
  EXPECT_EQ(rename_new("/tmp/a", "/tmp/mounted/b"), EXDEV);
  EXPECT_EQ(rename_new("/tmp/mounted/b", "/tmp/mounted/c"), 0);
  // The mount point cannot be renamed either.
  EXPECT_EQ(rename_new("/tmp/mounted", "/tmp/new"), EBUSY);
  EXPECT_EQ(rename(root_, "/tmp/mounted", "/tmp/new"), EBUSY);
}

TEST_F(SimFiles, a_new_name_is_given_by_whoever_may_rename) {
  create(one_, "/tmp/one's", "1");
  const auto renamed = kernel_.rename_new(*other_, "/tmp/one's", "/tmp/new");
  ASSERT_FALSE(renamed);
  EXPECT_EQ(renamed.error(), EPERM);
  create(other_, "/tmp/other's", "2");
  // An existing target is reported before a lack of permission.
  EXPECT_EQ(kernel_.rename_new(*other_, "/tmp/one's", "/tmp/other's").error(), EEXIST);
}

TEST_F(SimFiles, another_file_system_is_of_another_kind) {
  kernel_.mount("/tmp");
  EXPECT_NE(kernel_.file_system(*root_, "/tmp"), kernel_.file_system(*root_, "/dev/shm"));
  create(root_, "/tmp/a", "");
  EXPECT_EQ(kernel_.file_system(*root_, "/tmp/a"), kernel_.file_system(*root_, "/tmp"));
}

TEST_F(SimFiles, processes_and_standard_streams_are_not_files) {
  const auto process = kernel_.open_process(*root_, root_->pid);
  ASSERT_TRUE(process);
  std::array<std::byte, 1> byte{};
  // A file with offsets and without content: Linux 6.9.
  EXPECT_EQ(kernel_.read_at(*root_, *process, byte, 0).error(), EINVAL);
  EXPECT_EQ(kernel_.write_at(*root_, *process, byte, 0).error(), EINVAL);
  EXPECT_EQ(punch_hole(*process, 0, 1), EOPNOTSUPP);
  EXPECT_EQ(punch_hole(*process, 1, ~std::uint64_t{0} / 2), EFBIG);
  const os::Fd stream = os::Fd::standard_error;
  EXPECT_EQ(kernel_.read_at(*root_, stream, byte, 0).error(), ESPIPE);
  EXPECT_EQ(punch_hole(stream, 0, 1), ENODEV);
  EXPECT_EQ(kernel_.sync(*root_, stream).error(), EINVAL);
}

TEST_F(SimFiles, free_space_is_never_less_than_none_nor_more_than_a_signed_number) {
  EXPECT_EQ(free_space(), (std::uint64_t{1} << 63U) - 1) << "without a limit";
  create(root_, "/tmp/a", "1234");
  kernel_.limits.bytes = 2;
  EXPECT_EQ(free_space(), 0U);
}

}  // namespace
}  // namespace lastref::harness::sim
