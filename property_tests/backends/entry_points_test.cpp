// entry_points_test: what a program that was started by another hand does with wrong words.
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/tracker.hpp>
#include <lastref/worker.hpp>

#include "property_tests/backends/functions.hpp"

namespace lastref {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Words = std::vector<std::string>;

/// Whose signals cannot be ignored, and who says nothing aloud.
class DeafToNothingOs final : public os::KernelOs {
 public:
  std::optional<std::string> environment(const std::string& name) noexcept override {
    return is_marked && name == worker::marker ? std::optional<std::string>("1") : std::nullopt;
  }
  Result<std::size_t> write(os::Fd fd, os::Bytes bytes) noexcept override {
    if (fd != os::Fd::standard_error) {
      return KernelOs::write(fd, bytes);
    }
    said.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return bytes.size();
  }
  /// A tracker's listener, which is none of this program's.
  Status close(os::Fd fd) noexcept override {
    return fd == os::Fd{3} ? ok() : KernelOs::close(fd);
  }
  Status ignore_signal(os::Signal /*signal*/) noexcept override {
    return failure(std::errc::invalid_argument, "a signal", Call::ignore_signal);
  }

  bool is_marked = true;
  std::vector<std::string> said;
};

std::optional<int> start(DeafToNothingOs& os, const Words& words) {
  return run_if_spawned(os, *pretend::test_functions(), words);
}

TEST(EntryPoints, of_others_are_left_to_them_B5) {
  DeafToNothingOs os;
  for (const Words& words : {Words{},
                             Words{"lastref"},
                             Words{"program", worker::entry_point, "folder"},
                             Words{"lastref", "gate", "folder"}}) {
    EXPECT_EQ(start(os, words), std::nullopt);
  }
  // A word that anybody may give a program, who has not been started by a parent of workers.
  os.is_marked = false;
  EXPECT_EQ(start(os, {"lastref", worker::entry_point, "folder"}), std::nullopt);
  EXPECT_THAT(os.said, IsEmpty());
}

TEST(EntryPoints, of_a_worker_need_the_folder_of_a_tree_B5) {
  DeafToNothingOs os;
  EXPECT_EQ(start(os, {"lastref", worker::entry_point}), 2);
  EXPECT_THAT(os.said, ElementsAre(HasSubstr("worker: needs the folder of a tree")));
}

TEST(EntryPoints, of_a_tracker_need_one_folder_and_live_with_interrupts_that_they_hear_T1) {
  DeafToNothingOs os;
  for (const Words& words : {Words{"lastref", tracker::entry_point},
                             Words{"lastref", tracker::entry_point, "--loky-fd", "4"}}) {
    EXPECT_EQ(start(os, words), 2);
    EXPECT_THAT(os.said,
                ElementsAre(HasSubstr("tracker: ignore_signal"),
                            HasSubstr("tracker: ignore_signal"),
                            HasSubstr("tracker: needs the folder of a tree")));
    os.said.clear();
  }
}

TEST(EntryPoints, of_a_tracker_that_cannot_have_its_tree_say_so_T1) {
  DeafToNothingOs os;
  EXPECT_EQ(start(os, {"lastref", tracker::entry_point, "/nowhere/at/all"}), 2);
  EXPECT_THAT(os.said, testing::Contains(HasSubstr("tracker: gave up: ")));
}

}  // namespace
}  // namespace lastref
