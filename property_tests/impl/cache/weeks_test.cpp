// weeks_test: caches in a process that runs for long: nothing grows, and its threads and forked
// children may do anything.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>

#include "impl/cache/drain_guard.hpp"
#include "property_tests/impl/cache/cache_fixture.hpp"
#include "property_tests/impl/cache/forked.hpp"
#include "property_tests/impl/cache/maps.hpp"

namespace lastref {
namespace {

using pretend::CacheFixture;
using pretend::CacheKind;
using pretend::code_of;
using pretend::get;
using pretend::heap;
using pretend::must;
using pretend::put;
using testing::IsEmpty;

TEST(CacheWeeks, a_preserved_cache_is_attached_without_memory_of_its_own_E12) {
  constexpr std::uint64_t length = 100'000;
  CacheFixture fixture;
  {
    const auto cache = fixture.make(CacheKind::many, length);
    ASSERT_TRUE(put(*cache, 7, "seven"));
    ASSERT_TRUE(must(cache->preserve("kept", false)));
  }
  const auto made = fixture.make_many(length);
  ASSERT_TRUE(must(made->preload("kept")));
  os::KernelOs os;
  std::vector<std::unique_ptr<MultiprocessFileCache>> attached;
  attached.reserve(10);
  const std::size_t before = heap();
  for (int n = 0; n < 10; ++n) {
    attached.push_back(must(MultiprocessFileCache::attach(os, made->handle())));
    EXPECT_EQ(get(*attached.back(), 7), "seven");
  }
  EXPECT_LT(heap(), before + 10 * 4096) << "16 bytes a slot would be 16,000,000";
  // The table is not read either.
  fixture.os.crossings.clear();
  static_cast<void>(must(MultiprocessFileCache::attach(fixture.os, made->handle())));
  EXPECT_EQ(fixture.os.count_of(Call::read_at), 0U);
  attached.clear();
  fixture.folder.remove("kept");
}

TEST(CacheWeeks, an_entry_that_changes_after_the_cache_was_loaded_is_a_typed_error_C7_E12) {
  CacheFixture fixture;
  const auto cache = fixture.make(CacheKind::many, 2);
  ASSERT_TRUE(put(*cache, 0, "zero"));
  ASSERT_TRUE(must(cache->preserve("kept", false)));
  const auto made = fixture.make_many(2);
  ASSERT_TRUE(must(made->preload("kept")));
  const auto file = must(os::open_file(fixture.os, fixture.folder.path("kept"), {.write = true}));
  const std::uint64_t far = std::uint64_t{1} << 40U;
  ASSERT_TRUE(os::write_all_at(fixture.os, file.get(), std::as_bytes(std::span(&far, 1)), 0));
  const auto attached = must(MultiprocessFileCache::attach(fixture.os, made->handle()));
  for (SlotCache* const each :
       {static_cast<SlotCache*>(made.get()), static_cast<SlotCache*>(attached.get())}) {
    EXPECT_EQ(code_of(each->get(0)), std::errc::bad_message);
    EXPECT_EQ(code_of(each->view(0)), std::errc::bad_message);
    EXPECT_EQ(code_of(each->get_checked(0)), std::errc::bad_message);
    EXPECT_EQ(get(*each, 1), std::nullopt);
  }
  fixture.folder.remove("kept");
}

TEST(CacheWeeks, a_cache_that_grows_is_mapped_once_E12) {
  constexpr std::uint64_t length = 3000;
  CacheFixture fixture;
  os::KernelOs os;
  const auto cache = fixture.make_many(length);
  const auto attached = must(MultiprocessFileCache::attach(os, cache->handle()));
  std::optional<CachedBytes> view;
  for (std::uint64_t slot = 0; slot < length; ++slot) {
    ASSERT_TRUE(put(*cache, slot, std::string(1000, 'x')));
    ASSERT_TRUE(get(*attached, slot));
    if (slot == 10) {
      view = must(attached->view(slot));
    }
  }
  // 24,256 bytes of words, mapped by both, a map of 4 MiB for some 3 MiB of values, and that of the
  // view.
  EXPECT_LE(pretend::mapped_of(fixture.folder.path()), 2 * 24'576 + (4U << 20U) + (64U << 10U));
  EXPECT_EQ(pretend::text_of(view), std::string(1000, 'x'));
}

/// What remains after a million operations of each kind, and after a thousand.
struct Held {
  std::size_t heap = 0;
  std::uint64_t mapped = 0;

  bool operator==(const Held&) const = default;
};

TEST(CacheWeeks, a_million_operations_leave_what_a_thousand_leave_E12) {
  CacheFixture fixture;
  os::KernelOs os;
  const auto cache = must(MultiprocessFileCache::make(os, fixture.party, 100, fixture.options()));
  const auto use = [&](int times) {
    for (int n = 0; n < times; ++n) {
      const std::uint64_t slot = static_cast<std::uint64_t>(n) % 100;
      static_cast<void>(must(cache->put(slot, os::bytes_of("value"))));
      static_cast<void>(must(cache->get(slot)));
      static_cast<void>(must(cache->view(slot)));
    }
    return Held{.heap = heap(), .mapped = pretend::mapped_of(fixture.folder.path())};
  };
  static_cast<void>(use(1000));
  const Held few = use(1000);
  EXPECT_EQ(use(1'000'000), few);
}

TEST(CacheWeeks, ten_thousand_caches_leave_what_ten_leave_E12) {
  CacheFixture fixture;
  os::KernelOs os;
  const auto cache = must(MultiprocessFileCache::make(os, fixture.party, 10, fixture.options()));
  ASSERT_TRUE(put(*cache, 0, "zero"));
  const auto use = [&](int times) {
    for (int n = 0; n < times; ++n) {
      const auto attached = must(MultiprocessFileCache::attach(os, cache->handle()));
      static_cast<void>(must(attached->get(0)));
    }
    return Held{.heap = heap(), .mapped = pretend::mapped_of(fixture.folder.path())};
  };
  static_cast<void>(use(10));
  const Held few = use(10);
  EXPECT_EQ(use(10'000), few);
}

/// Its destructor waits for permission.
struct SlowToGo {
  SlowToGo(std::atomic<bool>& going, const std::atomic<bool>& may_go)
      : is_going(going), may(may_go) {}
  SlowToGo(const SlowToGo&) = delete;
  SlowToGo& operator=(const SlowToGo&) = delete;
  ~SlowToGo() {
    is_going = true;
    while (!may) {
      std::this_thread::yield();
    }
  }

  std::atomic<bool>& is_going;
  const std::atomic<bool>& may;
};

TEST(LeasedThing, is_in_use_until_the_last_who_left_has_destroyed_it_E9) {
  std::atomic<bool> is_going{false};
  std::atomic<bool> may_go{false};
  os::KernelOs os;
  cache::DrainGuard<SlowToGo> guarded(os);
  EXPECT_TRUE(guarded.is_idle());
  guarded.open(std::make_unique<SlowToGo>(is_going, may_go));
  EXPECT_TRUE(guarded.is_idle());
  auto use = std::make_unique<cache::DrainGuard<SlowToGo>::Use>(guarded);
  EXPECT_FALSE(guarded.is_idle());
  EXPECT_TRUE(guarded.shut());
  std::thread user([&] { use.reset(); });
  while (!is_going) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(guarded.is_idle());
  may_go = true;
  user.join();
  EXPECT_TRUE(guarded.is_idle());
}

class CacheInAThread : public testing::TestWithParam<CacheKind> {};

INSTANTIATE_TEST_SUITE_P(On,
                         CacheInAThread,
                         testing::ValuesIn(pretend::cache_kinds),
                         [](const auto& each) { return pretend::name_of(each.param); });

TEST_P(CacheInAThread, destroyed_while_a_call_is_in_it_waits_for_it_E9) {
  CacheFixture fixture;
  SlotCacheOptions options = fixture.options();
  options.is_thread_safe = true;
  auto cache = must(fixture.try_make(GetParam(), 4, options));
  ASSERT_TRUE(put(*cache, 0, std::string(1000, 'z')));
  std::atomic<bool> is_inside{false};
  std::atomic<bool> is_over{false};
  std::atomic<bool> is_destroyed{false};
  // Inside a call: preserve makes many system calls.
  fixture.os.after = [&](const pretend::Crossing& crossed) {
    if (crossed.call == Call::rename_new && !is_inside.exchange(true)) {
      while (fixture.os.count_of(Call::poll) == 0 && !is_destroyed) {
        std::this_thread::yield();
      }
      is_over = !is_destroyed;
    }
  };
  std::thread user([&, used = cache.get()] { EXPECT_TRUE(must(used->preserve("kept", false))); });
  while (!is_inside) {
    std::this_thread::yield();
  }
  cache.reset();
  is_destroyed = true;
  EXPECT_TRUE(is_over);
  user.join();
  fixture.os.after = nullptr;
  EXPECT_THAT(fixture.folder.names(), testing::ElementsAre("kept"));
  fixture.folder.remove("kept");
}

TEST_P(CacheInAThread, forked_while_a_call_is_in_it_is_used_and_ended_by_the_child_E8) {
  CacheFixture fixture;
  SlotCacheOptions options = fixture.options();
  options.is_thread_safe = true;
  auto cache = must(fixture.try_make(GetParam(), 4, options));
  ASSERT_TRUE(put(*cache, 0, "zero"));
  const std::size_t there = fixture.folder.names().size();
  std::atomic<bool> is_inside{false};
  std::atomic<bool> is_forked{false};
  fixture.os.after = [&](const pretend::Crossing& crossed) {
    if (crossed.call == Call::rename_new && !is_inside.exchange(true)) {
      while (!is_forked) {
        std::this_thread::yield();
      }
    }
  };
  std::thread user([&] { EXPECT_TRUE(must(cache->preserve("kept", false))); });
  while (!is_inside) {
    std::this_thread::yield();
  }
  const pretend::ForkedEnd end = pretend::run_forked([&] {
    fixture.os.pid = fixture.os.real_pid();
    fixture.os.after = nullptr;
    const auto found = cache->get(0);
    const bool is_right = GetParam() == CacheKind::many
                              ? found && pretend::text_of(*found) == "zero"
                              : code_of(found) == std::errc::operation_not_permitted;
    const auto stored = cache->put(1, os::bytes_of("one"));
    cache.reset();
    return is_right && (GetParam() == CacheKind::many || !stored);
  });
  is_forked = true;
  user.join();
  fixture.os.after = nullptr;
  EXPECT_TRUE(end.said);
  EXPECT_EQ(get(*cache, 0), "zero");
  fixture.folder.remove("kept");
  EXPECT_EQ(fixture.folder.names().size(), there);
}

TEST(FileOfOne, is_not_written_by_a_forked_child_E8) {
  CacheFixture fixture;
  const auto cache = fixture.make(CacheKind::file, 4);
  ASSERT_TRUE(put(*cache, 0, "zero"));
  const pretend::ForkedEnd end = pretend::run_forked([&] {
    fixture.os.pid = fixture.os.real_pid();
    return code_of(cache->put(1, os::bytes_of("late"))) == std::errc::operation_not_permitted;
  });
  EXPECT_TRUE(end.said);
  ASSERT_TRUE(put(*cache, 1, "one"));
  EXPECT_EQ(get(*cache, 1), "one");
}

}  // namespace
}  // namespace lastref
