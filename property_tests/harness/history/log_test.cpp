// log_test: the log of threads and processes has what they did, in its order, whichever process is
// killed.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>

#include "harness/history/history_log.hpp"
#include "harness/history/history_text.hpp"
#include "harness/journal/journal.hpp"
#include "property_tests/harness/history/writers.hpp"
#include "property_tests/support/printing.hpp"
#include "property_tests/support/shared_file.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref::harness {

using oracle::Ending;
using oracle::History;
using oracle::never;
using oracle::Operation;
using oracle::OperationKind;
using oracle::Refusals;
using pretend::WritersFixture;

namespace {

std::span<std::byte> bytes_of(const SharedMemory& memory, std::uint32_t operations) {
  return {static_cast<std::byte*>(memory.get()), HistoryLog::size_for(operations)};
}

class HistoryLogTest : public testing::Test {
 protected:
  static constexpr std::uint32_t space = 8;
  SharedMemory memory_{HistoryLog::size_for(space)};
  HistoryLog log_{bytes_of(memory_, space)};
};

TEST_F(HistoryLogTest, tells_each_operation_with_its_moments_and_how_it_came_back) {
  const auto put = log_.invoke({"worker_1", OperationKind::put, 3, 0xaa});
  const auto get = log_.invoke({"worker_2", OperationKind::get, 3, 0});
  get.saw(std::nullopt);
  put.answered(/*yes=*/true);
  log_.invoke({"worker_2", OperationKind::get, 3, 0}).saw(0xaa);
  log_.invoke({"worker_1", OperationKind::put, 3, 0xbb}).answered(/*yes=*/false);
  log_.invoke({"worker_1", OperationKind::put, 4, 0xcc}).failed();
  log_.invoke({"root", OperationKind::freeze, 0, 0}).answered(/*yes=*/true);
  static_cast<void>(log_.invoke({"worker_2", OperationKind::put, 4, 0xdd}));
  const auto history = log_.history(Refusals::at_a_limit);
  ASSERT_TRUE(history);
  EXPECT_EQ(oracle::to_text(*history),
            "refusals at_a_limit\n"
            "[0..3] worker_1 put 3 0xaa = true\n"
            "[1..2] worker_2 get 3 = nothing\n"
            "[4..5] worker_2 get 3 = 0xaa\n"
            "[6..7] worker_1 put 3 0xbb = false\n"
            "[8..9] worker_1 put 4 0xcc = error\n"
            "[10..11] root freeze = true\n"
            "[12..] worker_2 put 4 0xdd\n");
}

TEST_F(HistoryLogTest, another_over_the_same_memory_goes_on_where_the_first_one_is) {
  log_.invoke({"a", OperationKind::get, 3, 0}).saw(std::nullopt);
  HistoryLog other(bytes_of(memory_, space));
  other.invoke({"b", OperationKind::get, 3, 0}).saw(std::nullopt);
  EXPECT_EQ(oracle::to_text(*log_.history(Refusals::when_frozen)),
            "refusals when_frozen\n[0..1] a get 3 = nothing\n[2..3] b get 3 = nothing\n");
}

TEST_F(HistoryLogTest, that_is_full_gives_no_history) {
  for (std::uint32_t at = 0; at < space; ++at) {
    log_.invoke({"a", OperationKind::get, 3, 0}).saw(std::nullopt);
  }
  EXPECT_EQ(log_.history(Refusals::when_frozen)->operations.size(), space);
  log_.invoke({"a", OperationKind::get, 3, 0}).saw(0xaa);
  const auto history = log_.history(Refusals::when_frozen);
  ASSERT_FALSE(history);
  EXPECT_EQ(history.error().code, std::errc::no_buffer_space);
}

TEST_F(HistoryLogTest, passes_over_an_entry_whose_writer_was_killed_before_it_began) {
  log_.invoke({"a", OperationKind::get, 3, 0}).saw(std::nullopt);
  // The second word counts the claims: one is made, but no entry is written.
  ++static_cast<std::uint64_t*>(memory_.get())[1];
  log_.invoke({"b", OperationKind::get, 3, 0}).saw(std::nullopt);
  EXPECT_EQ(oracle::to_text(*log_.history(Refusals::when_frozen)),
            "refusals when_frozen\n[0..1] a get 3 = nothing\n[2..3] b get 3 = nothing\n");
}

/// Shared memory, and processes and threads that write to it.
class WritersTest : public testing::Test {
 protected:
  os::UniqueFd spawn(const std::string& actor, int seed, const std::string& end) {
    const auto child = os_.spawn({.entry = std::string(pretend::writer_entry),
                                  .arguments = {actor, std::to_string(seed), end},
                                  .fds = {{.here = shared_.fd(), .number_there = 3}},
                                  .blocked = {}});
    EXPECT_TRUE(child);
    return {os_, child->process};
  }

  os::ChildExit wait_for(const os::UniqueFd& process) {
    return pretend::wait_for(os_, process.get()).value();
  }

  os::KernelOs os_{{.program = "/proc/self/exe"}};
  pretend::SharedFile shared_{os_, WritersFixture::size()};
  WritersFixture fixture_{shared_.memory()};
};

std::size_t count_pending(const History& history) {
  return static_cast<std::size_t>(
      std::ranges::count(history.operations, Ending::pending, &Operation::ending));
}

/// Every moment is used once, and those of one actor are in the order in which it wrote.
void expect_exact_moments(const History& history) {
  std::set<std::uint64_t> moments;
  std::vector<std::uint64_t> last(history.actors.size(), 0);
  for (const Operation& operation : history.operations) {
    EXPECT_TRUE(moments.insert(operation.invoked).second);
    EXPECT_TRUE(operation.returned == never || moments.insert(operation.returned).second);
    EXPECT_GE(operation.invoked, last[operation.actor]);
    last[operation.actor] = operation.returned;
  }
}

constexpr os::ChildExit returned = {.code = 0, .killed = false};
constexpr os::ChildExit killed = {.code = 9, .killed = true};

TEST_F(WritersTest, threads_and_processes_write_one_history_whoever_is_killed) {
  const os::UniqueFd good = spawn("good", 1, "returns");
  const os::UniqueFd before = spawn("before", 2, "before");
  const os::UniqueFd after = spawn("after", 3, "after");
  std::thread first([&] { write_some(fixture_, "thread_1", 4, 500); });
  std::thread second([&] { write_some(fixture_, "thread_2", 5, 500); });
  first.join();
  second.join();
  EXPECT_EQ(wait_for(good), returned);
  EXPECT_EQ(wait_for(before), killed);
  EXPECT_EQ(wait_for(after), killed);
  constexpr std::uint64_t slot_of_the_dead = pretend::slots_of_fixture - 1;
  const auto asked = fixture_.log().invoke({"root", OperationKind::get, slot_of_the_dead, 0});
  asked.saw(fixture_.get(slot_of_the_dead));

  const auto history = fixture_.log().history(Refusals::when_frozen);
  ASSERT_TRUE(history);
  EXPECT_EQ(history->operations.size(), 5U * 500U + 3U);
  EXPECT_EQ(history->actors.size(), 6U);
  EXPECT_EQ(count_pending(*history), 2U);
  expect_exact_moments(*history);
  EXPECT_THAT(linearizable(*history), testing::IsEmpty());
  const Operation& seen = history->operations.back();
  EXPECT_EQ(seen.value, 2U) << "what the dead put is there";
}

TEST_F(WritersTest, a_process_killed_from_outside_leaves_a_lawful_history) {
  for (int round = 0; round < 8; ++round) {
    const std::uint64_t before = fixture_.counted();
    const os::UniqueFd writer = spawn("writer_" + std::to_string(round), round * 2, "goes_on");
    while (fixture_.counted() < before + 600) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(os_.signal_process(writer.get(), os::Signal::kill));
    EXPECT_EQ(wait_for(writer), killed);
  }
  const auto history = fixture_.log().history(Refusals::when_frozen);
  ASSERT_TRUE(history);
  EXPECT_LE(count_pending(*history), 8U);
  expect_exact_moments(*history);
  EXPECT_THAT(linearizable(*history), testing::IsEmpty());
}

TEST_F(WritersTest, a_cache_that_forgets_is_found_out_by_what_its_users_wrote) {
  for (const std::string actor : {"one", "two"}) {
    const auto asked = fixture_.log().invoke({actor, OperationKind::put, 3, 0xaa});
    asked.answered(/*yes=*/true);
  }
  const auto history = fixture_.log().history(Refusals::when_frozen);
  ASSERT_TRUE(history);
  const std::vector<Finding> findings = linearizable(*history);
  ASSERT_THAT(findings, testing::SizeIs(1));
  EXPECT_THAT(findings[0].seen, testing::HasSubstr("slot 3"));
  EXPECT_THAT(findings[0].seen, testing::HasSubstr("one [0..1]"));
  EXPECT_THAT(findings[0].seen, testing::HasSubstr("two [2..3]"));
}

}  // namespace
}  // namespace lastref::harness

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() > 2 && words[1] == lastref::pretend::writer_entry) {
    lastref::os::KernelOs os;
    return lastref::pretend::be_writer(os, std::span(words).subspan(2));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
