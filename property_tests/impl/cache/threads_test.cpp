// threads_test: one object used by many threads, and its end meanwhile.
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/cache/cache_fixture.hpp"

namespace lastref {
namespace {

using pretend::CacheFixture;
using pretend::CacheKind;
using pretend::must;
using testing::IsEmpty;

constexpr std::size_t writers = 4;
constexpr std::uint64_t slots = 500;

/// The value of a slot that a writer puts.
std::string value_of(std::uint64_t slot, std::size_t writer) {
  return std::to_string(slot) + ' ' +
         std::string(slot % 3 == 0 ? 10'000 : 50, static_cast<char>('a' + writer));
}

class CacheThreads : public testing::TestWithParam<CacheKind> {};

INSTANTIATE_TEST_SUITE_P(On,
                         CacheThreads,
                         testing::ValuesIn(pretend::cache_kinds),
                         [](const auto& each) { return pretend::name_of(each.param); });

TEST_P(CacheThreads, of_many_writers_each_slot_has_one_winner_C3_C8) {
  CacheFixture fixture;
  SlotCacheOptions options = fixture.options();
  options.is_thread_safe = true;
  const auto cache = must(fixture.try_make(GetParam(), slots, options));
  EXPECT_TRUE(cache->is_multithread_safe());
  std::vector<std::vector<char>> won(writers, std::vector<char>(slots, 0));
  std::vector<std::thread> threads;
  std::atomic<std::size_t> wrong{0};
  for (std::size_t writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      for (std::uint64_t slot = 0; slot < slots; ++slot) {
        const std::string value = value_of(slot, writer);
        won[writer][slot] = *cache->put(slot, os::bytes_of(value)) ? 1 : 0;
        // The slot has the complete value of one of the writers.
        const auto found = pretend::text_of(*cache->get(slot));
        bool is_whole = false;
        for (std::size_t each = 0; each < writers; ++each) {
          is_whole = is_whole || found == value_of(slot, each);
        }
        wrong += is_whole ? 0U : 1U;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0U);
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    std::size_t winners = 0;
    for (std::size_t writer = 0; writer < writers; ++writer) {
      if (won[writer][slot] != 0) {
        ++winners;
        EXPECT_EQ(pretend::get(*cache, slot), value_of(slot, writer));
      }
    }
    EXPECT_EQ(winners, 1U);
  }
}

TEST_P(CacheThreads, who_are_inside_when_it_is_closed_go_on_C2_C3) {
  for (int times = 0; times < 20; ++times) {
    CacheFixture fixture;
    SlotCacheOptions options = fixture.options();
    options.is_thread_safe = true;
    const auto cache = must(fixture.try_make(GetParam(), slots, options));
    std::atomic<std::size_t> busy{0};
    std::vector<std::thread> threads;
    for (std::size_t writer = 0; writer < writers; ++writer) {
      threads.emplace_back([&, writer] {
        bool is_open = true;
        for (std::uint64_t slot = 0; is_open; slot = (slot + 1) % slots) {
          static_cast<void>(*cache->put(slot, os::bytes_of(value_of(slot, writer))));
          busy += slot == 20 ? 1U : 0U;
          is_open = cache->get(slot)->has_value();
        }
      });
    }
    while (busy < writers) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(cache->close());
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_THAT(fixture.folder.names(), IsEmpty());
    EXPECT_EQ(fixture.os.count_of(Call::map), fixture.os.count_of(Call::unmap));
  }
}

TEST(ManyThreads, load_once_C7) {
  for (int times = 0; times < 20; ++times) {
    CacheFixture fixture;
    ASSERT_TRUE(must(fixture.make(CacheKind::memory, 2)->preserve("kept", false)));
    const auto cache = fixture.make_many(2);
    std::atomic<std::size_t> loaded{0};
    std::vector<std::thread> threads;
    for (std::size_t n = 0; n < writers; ++n) {
      threads.emplace_back([&] { loaded += *cache->preload("kept") ? 1U : 0U; });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(loaded, 1U);
    fixture.folder.remove("kept");
  }
}

TEST(Safety, is_what_it_is_said_to_be_C2_C8) {
  CacheFixture fixture;
  for (const bool is_thread_safe : {false, true}) {
    SlotCacheOptions options = fixture.options();
    options.is_thread_safe = is_thread_safe;
    const auto many = must(fixture.try_make(CacheKind::many, 1, options));
    EXPECT_TRUE(many->is_multiprocess_safe());
    EXPECT_TRUE(many->is_multithread_safe());
    for (const CacheKind kind : {CacheKind::file, CacheKind::memory}) {
      const auto one = must(fixture.try_make(kind, 1, options));
      EXPECT_FALSE(one->is_multiprocess_safe());
      EXPECT_EQ(one->is_multithread_safe(), is_thread_safe);
    }
  }
}

}  // namespace
}  // namespace lastref
