// platform_test: texts of /proc, names of errors, descriptors and children.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/platform/child_process.hpp"
#include "harness/platform/folder.hpp"
#include "harness/platform/names.hpp"
#include "harness/platform/proc.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref::harness {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(ErrorNames, lead_back_to_the_errors) {
  for (int error = 1; error <= EHWPOISON; ++error) {
    EXPECT_EQ(error_named(name_of_error(error)), error);
  }
  EXPECT_EQ(error_named("ENOTSUP"), EOPNOTSUPP);
  EXPECT_EQ(error_named("ENONE"), std::nullopt);
}

TEST(Counts, have_their_noun_in_the_right_number) {
  EXPECT_EQ(counted(0, "run"), "0 runs");
  EXPECT_EQ(counted(1, "run"), "1 run");
  EXPECT_EQ(counted(2, "process", "es"), "2 processes");
}

TEST(Folder, is_listed_before_the_folders_in_it) {
  const pretend::FreshFolder folder;
  for (const char* each : {"b", "a", "a/b"}) {
    std::filesystem::create_directory(folder.path(each));
  }
  folder.write("a/b/file");
  folder.write("c");
  std::filesystem::create_symlink(folder.path("a"), folder.path("link"));
  std::vector<std::string> found;
  for (const auto& each : entries_below(folder.path())) {
    found.push_back(each.path().lexically_relative(folder.path()));
  }
  EXPECT_THAT(found, ElementsAre("a", "b", "c", "link", "a/b", "a/b/file"));
  EXPECT_EQ(entries_of(folder.path("a")).size(), 1U);
  EXPECT_THAT(entries_below(folder.path("none")), IsEmpty());
  std::filesystem::remove_all(folder.path("a"));
  for (const char* each : {"b", "c", "link"}) {
    folder.remove(each);
  }
}

TEST(Proc, a_field_has_its_whole_name) {
  const std::string text = "Pid:\t17\nPPid:\t1\nSigCgt:\t00000000000000ff\nCapEff:";
  EXPECT_EQ(field_in(text, "Pid"), "17");
  EXPECT_EQ(field_in(text, "PPid"), "1");
  EXPECT_EQ(number_in<int>(field_in(text, "SigCgt"), 16), 255);
  EXPECT_EQ(field_in(text, "CapEff"), "");
  EXPECT_EQ(field_in(text, "Tgid"), "");
}

TEST(Proc, a_program_may_have_any_name) {
  const std::string text = "17 (a) S 2 (b) R 1 9 7\n";
  EXPECT_EQ(stat_field_in(text, 3), "R");
  EXPECT_EQ(stat_field_in(text, 6), "7");
  EXPECT_EQ(stat_field_in(text, 7), "");
  EXPECT_EQ(stat_field_in("", 3), "");
}

TEST(Proc, a_mapping_has_a_path_or_none) {
  const auto all = mappings_in(
      "7f00-7f10 rw-s 00000000 00:1a 1234       /dev/shm/a b (deleted)\n"
      "8000-9000 r--p 00000000 00:00 0 \n");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].end - all[0].begin, 0x10U);
  EXPECT_EQ(all[0].rights, "rw-s");
  EXPECT_EQ(all[0].inode, 1234U);
  EXPECT_EQ(all[0].path, "/dev/shm/a b (deleted)");
  EXPECT_EQ(all[1].begin, 0x8000U);
  EXPECT_EQ(all[1].path, "");
}

TEST(Proc, shows_a_child_until_it_is_reaped) {
  const int child = start_child(::pause);
  EXPECT_THAT(children_of(::getpid()), Contains(child));
  EXPECT_EQ(number_of_status(child, "PPid"), ::getpid());
  ::kill(child, SIGKILL);
  EXPECT_TRUE(is_dead(child, std::chrono::hours(1)));
  EXPECT_EQ(state_of(child, child), 'Z');
  EXPECT_EQ(reap(child), SIGKILL);
  EXPECT_EQ(state_of(child, child), 'X');
  EXPECT_EQ(number_of_status(child, "PPid"), -1);
  EXPECT_EQ(reap(child), std::nullopt);
}

TEST(OwnedDescriptor, is_closed_once_and_errno_stays) {
  auto [reader, writer] = make_pipe();
  const std::array ends = {reader.get(), writer.get()};
  UniqueFd moved = std::move(reader);
  EXPECT_TRUE(is_open(ends[0]));
  errno = EDOM;
  moved = std::move(writer);
  EXPECT_EQ(errno, EDOM);
  EXPECT_FALSE(is_open(ends[0]));
  EXPECT_EQ(UniqueFd(moved.release()).get(), ends[1]);
  EXPECT_FALSE(is_open(ends[1]));
}

}  // namespace
}  // namespace lastref::harness
