// progress_file_test: which parts of a file of an earlier gate are used, and which files are not
// touched.
#include "harness/explore/progress_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace lastref::harness {
namespace {

class ProgressFileTest : public testing::Test {
 public:
  ProgressFileTest() {
    std::string path = testing::TempDir() + "progress_XXXXXX";
    folder_ = ::mkdtemp(path.data());
    path_ = folder_ / "progress";
  }
  ProgressFileTest(const ProgressFileTest&) = delete;
  ProgressFileTest& operator=(const ProgressFileTest&) = delete;
  ~ProgressFileTest() override { std::filesystem::remove_all(folder_); }

 protected:
  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(ProgressFileTest, a_line_that_was_cut_is_no_place) {
  std::string why;
  {
    ProgressFile first;
    ASSERT_TRUE(first.open(path_, 1, why)) << why;
    first.add_reached("open");
    first.add_reached("unlink");
  }
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 3);
  for (int gate = 0; gate < 2; ++gate) {
    ProgressFile later;
    ASSERT_TRUE(later.open(path_, 1, why)) << why;
    EXPECT_EQ(later.reached(), std::set<std::string>{"open"});
  }
}

TEST_F(ProgressFileTest, a_file_that_is_something_else_stays_as_it_is) {
  std::ofstream(path_) << "dear diary\n";
  ProgressFile memory;
  std::string why;
  EXPECT_FALSE(memory.open(path_, 1, why));
  EXPECT_NE(why.find(path_), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(path_), 11U);
}

}  // namespace
}  // namespace lastref::harness
