// exit_test: managers at the end of a process, while other threads use them, or when one of those
// threads ends the process.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/reducers/unlinking_references.hpp"
#include "property_tests/impl/resources/manager_fixture.hpp"

namespace lastref {
namespace {

using pretend::Crossing;
using pretend::ManagerFixture;
using pretend::must;
using pretend::UnlinkingReferences;
using testing::IsEmpty;

/// Gives other threads every chance to continue.
void linger() {
  for (int time = 0; time < 2000; ++time) {
    std::this_thread::yield();
  }
}

TEST(Exit, during_a_dump_makes_no_folder_again_E9) {
  for (const bool has_file : {false, true}) {
    SCOPED_TRACE(has_file);
    ManagerFixture fixture;
    if (has_file) {
      ASSERT_TRUE(fixture.publish());
    }
    const auto late = fixture.resources->publish([&](os::Fd fd) {
      fixture.os.end();
      return fixture.write(fd);
    });
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, std::errc::operation_canceled);
    EXPECT_NE(late.error().subject.find("exit"), std::string::npos) << late.error().subject;
    EXPECT_THAT(fixture.folder.names(), IsEmpty());
    ASSERT_TRUE(fixture.resources->set_current_context("later"));
    EXPECT_EQ(fixture.publish().error().code, std::errc::operation_canceled);
    EXPECT_THAT(fixture.folder.names(), IsEmpty());
    fixture.resources.reset();
    EXPECT_TRUE(fixture.counts.empty());
    EXPECT_THAT(fixture.counts.misuse, IsEmpty());
  }
}

TEST(Exit, that_cleans_up_is_waited_for_by_the_end_of_the_manager_E9) {
  ManagerFixture fixture;
  ASSERT_TRUE(fixture.publish());
  std::atomic<bool> cleans = false;
  std::atomic<bool> ends = false;
  std::atomic<bool> has_gone = false;
  bool has_gone_meanwhile = true;
  const auto other = must(fixture.os.start_thread([&] {
    cleans.wait(false);
    ends = true;
    ends.notify_all();
    fixture.resources.reset();
    has_gone = true;
  }));
  fixture.os.after = [&](const Crossing& crossing) {
    if (crossing.call == Call::unlink && !cleans.exchange(true)) {
      cleans.notify_all();
      ends.wait(false);
      linger();
      has_gone_meanwhile = has_gone;
    }
  };
  fixture.os.end();
  other->join();
  EXPECT_FALSE(has_gone_meanwhile);
  EXPECT_TRUE(has_gone);
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
  EXPECT_TRUE(fixture.counts.empty());
  EXPECT_THAT(fixture.counts.misuse, IsEmpty());
}

TEST(Exit, that_comes_to_a_manager_that_has_gone_does_nothing_E9) {
  ManagerFixture fixture;
  auto first = fixture.make({.root = fixture.folder.path()});
  const auto write = [&](os::Fd fd) { return fixture.write(fd); };
  const auto file = must(first->publish(write));
  const std::string folder = std::filesystem::path(file->path()).parent_path();
  ASSERT_TRUE(fixture.publish());
  // The exit has copied both actions, and runs that of the second manager first.
  fixture.os.after = [&](const Crossing& crossing) {
    if (crossing.call == Call::unlink && std::exchange(first, nullptr)) {
      std::filesystem::create_directory(folder);  // Meanwhile it belongs to another program.
    }
  };
  fixture.os.end();
  EXPECT_TRUE(std::filesystem::remove(folder)) << "the recreated folder is not ours";
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
  EXPECT_TRUE(fixture.counts.empty());
}

TEST(Exit, of_a_manager_waits_for_the_calls_of_other_threads_E9) {
  ManagerFixture fixture;
  std::atomic<bool> ends = false;
  std::atomic<bool> has_gone = false;
  bool has_gone_meanwhile = true;
  std::unique_ptr<os::Thread> other;
  const auto file = fixture.resources->publish([&](os::Fd fd) {
    other = must(fixture.os.start_thread([&] {
      ends = true;
      ends.notify_all();
      fixture.resources.reset();
      has_gone = true;
    }));
    ends.wait(false);
    linger();
    has_gone_meanwhile = has_gone;
    return fixture.write(fd);
  });
  EXPECT_TRUE(file);
  other->join();
  EXPECT_FALSE(has_gone_meanwhile);
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
  EXPECT_TRUE(fixture.counts.empty());
  EXPECT_THAT(fixture.counts.misuse, IsEmpty());
}

/// Threads run while this program ends, so leak checkers cannot see what they own.
std::atomic<bool> ends_with_threads = false;

/// Dumps in two threads until the main thread ends the program.
[[noreturn]] void dump_and_exit(const std::string& folder) {
  static auto& os = *std::make_unique<os::KernelOs>().release();
  static const auto references = std::make_shared<UnlinkingReferences>(os);
  // Not destroyed either: the exit finds it in use, and later calls are refused.
  static auto& resources =
      *must(TemporaryResources::make(os, references, {.root = folder})).release();
  static std::atomic<int> dumps = 0;
  ends_with_threads = true;
  // Never destroyed, because they run to the end; but always reachable for leak checkers.
  static auto& threads = *std::make_unique<std::vector<std::unique_ptr<os::Thread>>>().release();
  for (int thread = 0; thread < 2; ++thread) {
    threads.push_back(must(os.start_thread([] {
      for (;;) {
        const auto file =
            resources.publish([](os::Fd fd) { return os::write_all(os, fd, os::bytes_of("x")); });
        if (!file) {
          return;
        }
        ++dumps;
        dumps.notify_all();
      }
    })));
  }
  for (int seen = 0; seen < 5; seen = dumps) {
    dumps.wait(seen);
  }
  std::exit(7);
}

TEST(Exit, of_a_program_whose_threads_dump_leaves_nothing_and_has_its_code_E9) {
  const pretend::FreshFolder folder;
  for (int time = 0; time < 20; ++time) {
    EXPECT_EXIT(dump_and_exit(folder.path()), testing::ExitedWithCode(7), "^$");
    EXPECT_THAT(folder.names(), IsEmpty());
  }
}

}  // namespace
}  // namespace lastref

#ifdef __SANITIZE_ADDRESS__
/// LeakSanitizer calls this at the end. sanitizer/lsan_interface.h
extern "C" int __lsan_is_turned_off() {
  return lastref::ends_with_threads ? 1 : 0;
}
#endif
