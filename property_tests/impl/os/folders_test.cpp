// folders_test: what is created above a folder, and in which folders no other user can rename.
#include "impl/os/folders.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>

#include "property_tests/support/fresh_folder.hpp"

namespace lastref::os {
namespace {

namespace fs = std::filesystem;

std::errc code_of(const Status& status) {
  return status ? std::errc{} : status.error().code;
}

class Folders : public testing::Test {
 protected:
  void open_to(const std::string& name, unsigned mode) {
    fs::permissions(folder_.path(name), static_cast<fs::perms>(mode));
  }

  pretend::FreshFolder folder_;
  KernelOs os_;
};

TEST_F(Folders, are_made_with_what_is_missing_above_them) {
  EXPECT_TRUE(make_with_parents(os_, folder_.path("a/b/c")));
  EXPECT_EQ(fs::status(folder_.path("a/b")).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(make_with_parents(os_, folder_.path("a/d")));
  EXPECT_EQ(code_of(make_with_parents(os_, folder_.path("a/d"))), std::errc::file_exists);
  folder_.write("file");
  EXPECT_EQ(code_of(make_with_parents(os_, folder_.path("file/b/c"))), std::errc::not_a_directory);
  folder_.remove("a");
  folder_.link("dangling", folder_.path("absent"));
  EXPECT_EQ(code_of(make_with_parents(os_, folder_.path("dangling/b/c"))),
            std::errc::no_such_file_or_directory);
  folder_.remove("dangling");
  folder_.remove("file");
}

TEST_F(Folders, are_named_from_the_root_or_said_to_be_too_deep_E2) {
  EXPECT_EQ(from_root(os_, "/a/../b"), "/a/../b");
  folder_.make_folder("in");
  {
    const pretend::WorkingFolder inside(folder_.path("in"));
    EXPECT_EQ(from_root(os_, "a/../b"), folder_.path("in/a/../b"));
    EXPECT_EQ(from_root(os_, ".././/../b"), fs::path(folder_.path()).parent_path() / "b");
    EXPECT_EQ(from_root(os_, "."), folder_.path("in"));
    EXPECT_EQ(from_root(os_, ""), folder_.path("in"));
    const std::size_t space = 4095 - folder_.path("in/").size();
    EXPECT_TRUE(from_root(os_, std::string(space, 'x')));
    const auto longer = from_root(os_, std::string(space + 1, 'x'));
    ASSERT_FALSE(longer);
    EXPECT_EQ(longer.error().code, std::errc::filename_too_long);
    EXPECT_NE(longer.error().subject.find("4096 bytes"), std::string::npos);
    EXPECT_NE(longer.error().subject.find("the limit is 4095"), std::string::npos);
  }
  {
    const pretend::WorkingFolder root("/");
    EXPECT_EQ(from_root(os_, "a"), "/a");
    EXPECT_EQ(from_root(os_, "../a"), "/a");
    EXPECT_EQ(from_root(os_, ".."), "/");
  }
  EXPECT_FALSE(from_root(os_, "/" + std::string(4095, 'x')));
  const pretend::Nowhere nowhere;
  EXPECT_FALSE(from_root(os_, "a"));
  EXPECT_EQ(from_root(os_, "/a"), "/a");
  folder_.remove("in");
}

TEST_F(Folders, are_safe_where_nobody_else_can_rename) {
  folder_.make_folder("in");
  folder_.write("file");
  for (const unsigned mode : {0700U, 0755U, 01777U, 01770U}) {
    open_to("in", mode);
    EXPECT_TRUE(check_is_safe(os_, folder_.path("in"))) << mode;
    EXPECT_TRUE(check_parent(os_, folder_.path("in/name"))) << mode;
  }
  open_to("in", 0777);
  EXPECT_EQ(code_of(check_is_safe(os_, folder_.path("in"))), std::errc::permission_denied);
  EXPECT_EQ(code_of(check_parent(os_, folder_.path("in/name"))), std::errc::permission_denied);
  EXPECT_EQ(code_of(check_is_safe(os_, folder_.path("file"))), std::errc::not_a_directory);
  EXPECT_EQ(code_of(check_is_safe(os_, folder_.path("absent"))),
            std::errc::no_such_file_or_directory);
  {
    const pretend::WorkingFolder inside(folder_.path("in"));
    EXPECT_EQ(code_of(check_parent(os_, "name")), std::errc::permission_denied);
    open_to("in", 0700);
    EXPECT_TRUE(check_parent(os_, "name"));
  }
  folder_.remove("in");
  folder_.remove("file");
}

TEST_F(Folders, are_refused_where_a_group_or_others_can_rename_them_or_what_is_above_E11) {
  folder_.make_folder("above");
  folder_.make_folder("above/in");
  folder_.make_folder("link");
  folder_.link("link/to", folder_.path("above/in"));
  folder_.make_folder("other");
  folder_.link("other/link", "../link/to");
  for (const char* way : {"above/in", "above/in/", "link/to", "other/../above/in", "other/link"}) {
    SCOPED_TRACE(way);
    const std::string path = folder_.path(way);
    for (const unsigned mode : {0770U, 0702U, 0777U, 02775U}) {
      for (const char* name : {"above", "above/in"}) {
        open_to(name, mode);
        const Status safe = check_is_safe(os_, path);
        EXPECT_EQ(code_of(safe), std::errc::permission_denied) << name << ' ' << mode;
        open_to(name, mode | 01000U);
        EXPECT_TRUE(check_is_safe(os_, path)) << name << ' ' << mode;
        open_to(name, 0700);
      }
    }
  }
  // A user that may rename the symlink need not touch its target.
  open_to("link", 0770);
  EXPECT_EQ(code_of(check_is_safe(os_, folder_.path("link/to"))), std::errc::permission_denied);
  EXPECT_TRUE(check_is_safe(os_, folder_.path("above/in")));
  {
    const pretend::WorkingFolder inside(folder_.path("above"));
    EXPECT_TRUE(check_is_safe(os_, "in"));
    open_to("above", 0770);
    EXPECT_EQ(code_of(check_is_safe(os_, "in")), std::errc::permission_denied);
    EXPECT_EQ(code_of(check_parent(os_, "in/name")), std::errc::permission_denied);
  }
  for (const char* name : {"above", "link", "other"}) {
    folder_.remove(name);
  }
}

}  // namespace
}  // namespace lastref::os
