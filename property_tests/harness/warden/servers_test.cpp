// servers_test: programs that get requests from outside, and end on request.
#include <unistd.h>

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "harness/platform/unique_fd.hpp"
#include "property_tests/harness/warden/watched.hpp"

namespace lastref::harness::warden {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

constexpr std::uint64_t rounds = 12;

class Servers : public WardenTest {
 protected:
  void TearDown() override { empty(folder); }

  /// Watches the server of our folder, with `rounds` rounds of this work.
  Watched served(const std::string& work, const std::vector<std::string>& texts = {}) {
    return must(
        {.command = {WARDEN_CALLS, "serve", folder.path()},
         .faults = faults(texts),
         .server = {
             .ready = "test -S " + folder.path() + "/socket", .work = work, .rounds = rounds}});
  }
  std::string asks(const std::string& how) const {
    return std::string(WARDEN_CALLS) + " '" + how + "' " + folder.path();
  }

  pretend::FreshFolder folder;
};

TEST_F(Servers, end_when_their_work_is_done) {
  const Watched watched = served(asks("ask"));
  EXPECT_TRUE(watched.told_to_end);
  EXPECT_FALSE(watched.work_failure);
  EXPECT_EQ(watched.root, os::ChildExit{});
  EXPECT_THAT(watched.growing, IsEmpty());
  EXPECT_THAT(watched.leftovers, IsEmpty());
  EXPECT_THAT(watched.stayed, IsEmpty());
}

TEST_F(Servers, that_keep_a_descriptor_each_round_are_told) {
  const Watched watched = served(asks("ask and stay"));
  ASSERT_THAT(watched.growing, ElementsAre(Field(&Growth::what, "descriptors")));
  EXPECT_EQ(watched.growing[0].role, "root");
  EXPECT_EQ(watched.growing[0].each_round, 1);
  EXPECT_EQ(watched.growing[0].most, std::to_string(rounds - 1) + " more of socket");
  EXPECT_EQ(watched.growing[0].to - watched.growing[0].from, rounds - rounds / 4 - 1);
}

TEST_F(Servers, whose_work_fails_say_so) {
  const Watched watched = served(asks("ask") + " && exit 3");
  ASSERT_TRUE(watched.work_failure);
  EXPECT_EQ(watched.work_failure->option, "--work");
  EXPECT_EQ(watched.work_failure->how, "exit 3");
  EXPECT_TRUE(watched.told_to_end);
}

TEST_F(Servers, that_end_too_early_say_so) {
  const Watched watched = must({.command = {"/bin/true"}, .server = {.ready = "false"}});
  ASSERT_TRUE(watched.work_failure);
  EXPECT_EQ(watched.work_failure->option, "--ready");
  EXPECT_FALSE(watched.told_to_end);
}

TEST_F(Servers, what_commands_leave_is_not_of_the_server) {
  const Watched watched =
      served("(exec 0</dev/null; while :; do :; done) >/dev/null 2>&1 & " + asks("ask"));
  EXPECT_FALSE(watched.work_failure);
  EXPECT_THAT(watched.processes, ElementsAre(Field(&ProcessSeen::role, "root")));
  EXPECT_THAT(watched.stayed, IsEmpty());
}

/// The growth of this process, which opens one more descriptor in each of the first rounds.
std::vector<Growth> growing_with(std::size_t opening, std::size_t all) {
  RoundsSeen seen;
  std::vector<UniqueFd> opened;
  for (std::size_t round = 0; round < all; ++round) {
    if (round < opening) {
      opened.emplace_back(::dup(STDERR_FILENO));
    }
    seen.note("root", ::getpid());
    seen.end_round();
  }
  auto growing = seen.growing();
  std::erase_if(growing, [](const Growth& each) { return each.what != "descriptors"; });
  return growing;
}

TEST(Growing, is_what_has_more_in_the_end_than_in_the_beginning) {
  const auto growing = growing_with(rounds, rounds);
  ASSERT_EQ(growing.size(), 1U);
  EXPECT_EQ(growing[0].each_round, 1);
  // A cache that fills
  EXPECT_THAT(growing_with(rounds / 4, rounds), IsEmpty());
  EXPECT_THAT(growing_with(rounds / 2, rounds), IsEmpty());
  EXPECT_THAT(growing_with(RoundsSeen::rounds_least - 1, RoundsSeen::rounds_least - 1), IsEmpty());
}

}  // namespace
}  // namespace lastref::harness::warden
