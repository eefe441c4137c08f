// threads_test: one manager, many threads, and places that fail and contexts that end meanwhile.
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/resources/manager_ground.hpp"

namespace lastref {
namespace {

using pretend::ManagerGround;
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

TEST(Threads, all_find_another_place_when_shared_memory_fails_M1) {
  for (int round = 0; round < 20; ++round) {
    ManagerGround ground;
    ground.choose_between_two();
    std::atomic<int> wrong = 0;
    run_together(ground.os, [&](int) {
      const auto file = ground.resources->publish([&](os::Fd fd) {
        // Nobody goes back: this one is there, or was when it began.
        return must(ground.resources->resolve_temp_folder_name()).use_shared_mem
                   ? Status(failure(std::errc::no_space_on_device, "a write"))
                   : ground.write(fd);
      });
      if (!file || !(*file)->path().starts_with("/tmp/") ||
          !std::filesystem::exists(ground.os.real((*file)->path()))) {
        ++wrong;
      }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(ground.resources->clean_temporary_resources());
    EXPECT_EQ(ground.folder.names(), (std::vector<std::string>{"shm", "tmp"}));
    EXPECT_TRUE(ground.counts.empty());
    EXPECT_THAT(ground.counts.misuse, IsEmpty());
    ground.remove_both();
  }
}

TEST(Threads, publish_into_a_context_that_others_clean_up_or_are_told_M5_R12) {
  for (const bool force : {false, true}) {
    ManagerGround ground;
    ASSERT_TRUE(ground.resources->set_current_context("a"));
    std::atomic<int> wrong = 0;
    run_together(ground.os, [&](int thread) {
      for (int time = 0; time < 50; ++time) {
        if (thread == 0) {
          wrong += ground.resources->clean_temporary_resources("a", {.force = force}) ? 0 : 1;
          wrong += ground.resources->set_current_context("a") ? 0 : 1;
          continue;
        }
        const auto file = ground.publish();
        if (!file && file.error().code != std::errc::operation_canceled) {
          ++wrong;
        }
        if (file) {
          // Lent or let go of, and nothing between.
          const auto lent = ground.resources->lend(**file);
          wrong += lent ? 0 : 1;
        }
      }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(ground.resources->clean_temporary_resources({}, {.force = force}));
    ground.resources.reset();
    EXPECT_THAT(ground.folder.names(), IsEmpty());
    EXPECT_TRUE(ground.counts.empty());
    if (!force) {
      EXPECT_THAT(ground.counts.misuse, IsEmpty());
    }
  }
}

}  // namespace
}  // namespace lastref
