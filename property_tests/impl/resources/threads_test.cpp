// threads_test: one manager and many threads, while locations fail and contexts end.
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/resources/manager_fixture.hpp"

namespace lastref {
namespace {

using pretend::ManagerFixture;
using pretend::must;
using testing::IsEmpty;

/// Runs `body` in several threads at once, with their numbers.
void run_together(os::Os& os, const std::function<void(int)>& body) {
  std::vector<std::unique_ptr<os::Thread>> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.push_back(must(os.start_thread([&body, thread] { body(thread); })));
  }
  for (const auto& thread : threads) {
    thread->join();
  }
}

TEST(Threads, all_find_another_location_when_shared_memory_fails_M1) {
  for (int round = 0; round < 20; ++round) {
    ManagerFixture fixture;
    fixture.choose_between_two();
    std::atomic<int> wrong = 0;
    run_together(fixture.os, [&](int) {
      const auto file = fixture.resources->publish([&](os::Fd fd) {
        // The choice never returns to shared memory: this write is there, or was when it began.
        return must(fixture.resources->resolve_temp_folder_name()).use_shared_mem
                   ? Status(failure(std::errc::no_space_on_device, "a write"))
                   : fixture.write(fd);
      });
      if (!file || !(*file)->path().starts_with("/tmp/") ||
          !std::filesystem::exists(fixture.os.real((*file)->path()))) {
        ++wrong;
      }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(fixture.resources->clean_up());
    EXPECT_EQ(fixture.folder.names(), (std::vector<std::string>{"shm", "tmp"}));
    EXPECT_TRUE(fixture.counts.empty());
    EXPECT_THAT(fixture.counts.misuse, IsEmpty());
    fixture.remove_both();
  }
}

TEST(Threads, publish_into_a_context_that_others_clean_up_or_are_told_M5_R12) {
  for (const bool force : {false, true}) {
    ManagerFixture fixture;
    ASSERT_TRUE(fixture.resources->set_current_context("a"));
    std::atomic<int> wrong = 0;
    run_together(fixture.os, [&](int thread) {
      for (int time = 0; time < 50; ++time) {
        if (thread == 0) {
          wrong += fixture.resources->clean_up("a", {.force = force}) ? 0 : 1;
          wrong += fixture.resources->set_current_context("a") ? 0 : 1;
          continue;
        }
        const auto file = fixture.publish();
        if (!file && file.error().code != std::errc::operation_canceled) {
          ++wrong;
        }
        if (file) {
          // Either lent or released, and nothing in between.
          const auto lent = fixture.resources->lend(**file);
          wrong += lent ? 0 : 1;
        }
      }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(fixture.resources->clean_up({}, {.force = force}));
    fixture.resources.reset();
    EXPECT_THAT(fixture.folder.names(), IsEmpty());
    EXPECT_TRUE(fixture.counts.empty());
    if (!force) {
      EXPECT_THAT(fixture.counts.misuse, IsEmpty());
    }
  }
}

}  // namespace
}  // namespace lastref
