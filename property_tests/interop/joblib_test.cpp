// joblib_test: a real joblib.Parallel with real workers, which use our resource tracker.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/interop/loky_peer.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref {
namespace {

using pretend::FreshFolder;
using pretend::LokyPeer;
using testing::HasSubstr;
using testing::IsEmpty;

/// The semaphores of a Python process, by its pid.
std::vector<std::string> semaphores_of(const std::string& pid) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("sem.loky-" + pid + "-")) {
      names.push_back(name);
    }
  }
  return names;
}

std::string first_word(const std::string& text) {
  return text.substr(0, text.find(' '));
}

TEST(Joblib, computes_with_our_tracker_what_it_should_and_leaves_nothing_T3_T12) {
  FreshFolder folder;
  LokyPeer peer;
  const std::string answer = peer.tell({"parallel", LASTREF_PROGRAM, folder.path(), "10000"});
  EXPECT_EQ(answer.substr(answer.find(' ') + 1), "memmap 50");
  // Everything is removed with the last of the processes.
  EXPECT_EQ(peer.end(), "");
  EXPECT_THAT(folder.names(), IsEmpty());
  EXPECT_THAT(semaphores_of(first_word(answer)), IsEmpty());
}

TEST(Joblib, that_is_killed_leaves_it_to_our_tracker_T5_T12) {
  FreshFolder folder;
  LokyPeer peer;
  const std::string answer = peer.tell({"killed", LASTREF_PROGRAM, folder.path(), "10000"});
  ASSERT_EQ(answer.substr(answer.find(' ') + 1), "memmap 1");
  const std::string said = peer.end();
  EXPECT_THAT(said,
              HasSubstr("1 leaked file objects to clean up at shutdown: file:" + folder.path()));
  EXPECT_THAT(said,
              HasSubstr(" leaked folder objects to clean up at shutdown: folder:" + folder.path()));
  EXPECT_THAT(said, HasSubstr(" leaked semlock objects to clean up at shutdown:"));
  EXPECT_THAT(folder.names(), IsEmpty());
  EXPECT_THAT(semaphores_of(first_word(answer)), IsEmpty());
}

}  // namespace
}  // namespace lastref
