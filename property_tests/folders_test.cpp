// folders_test: what is made above a folder, and in which folders nobody else can rename.
#include "impl/os/folders.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>

#include "property_tests/tracker/fresh_folder.hpp"

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

TEST_F(Folders, are_safe_where_nobody_else_can_rename) {
  folder_.make_folder("in");
  folder_.write("file");
  for (const unsigned mode : {0700U, 0755U, 01777U, 0770U}) {
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

}  // namespace
}  // namespace lastref::os
