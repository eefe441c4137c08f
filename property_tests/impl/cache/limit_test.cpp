// limit_test: the limit of a shared cache applies to the values that it has, and to nothing else,
// whichever process failed, lost a race or died on the way.
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/cache/cache_fixture.hpp"
#include "property_tests/impl/cache/forked.hpp"
#include "property_tests/impl/cache/moments.hpp"

namespace lastref {
namespace {

using pretend::CacheFixture;
using pretend::Crossing;
using pretend::get;
using pretend::get_all_ways;
using pretend::must;
using pretend::put;

constexpr std::size_t value_size = 112;

/// With space for that many values of that size.
CacheOptions space_for(const CacheFixture& fixture, std::int64_t length, std::int64_t values) {
  CacheOptions options = fixture.options();
  const std::int64_t head = (256 + 8 * length + 15) / 16 * 16;
  options.size_limit = head + values * static_cast<std::int64_t>(16 + value_size);
  return options;
}

std::string value_of(std::uint64_t slot, char writer) {
  std::string value = std::to_string(slot) + ' ';
  value.resize(value_size, writer);
  return value;
}

TEST(ManyLimit, of_exactly_all_values_is_not_met_by_processes_that_race_for_each_C5) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a copy that is made beside a busy thread may have a lock of AddressSanitizer's "
                  "that nobody gives back";
#endif
  constexpr std::int64_t length = 20'000;
  CacheFixture fixture;
  const auto cache = must(MultiprocessFileCache::make(
      fixture.os, fixture.party, length, space_for(fixture, length, length)));
  const auto put_all = [&](char writer) {
    pretend::DirectedOs os;
    const auto mine = must(MultiprocessFileCache::attach(os, cache->handle()));
    for (std::uint64_t slot = 0; slot < length; ++slot) {
      static_cast<void>(must(mine->put(slot, os::bytes_of(value_of(slot, writer)))));
    }
    return true;
  };
  pretend::ForkedEnd end;
  std::thread other([&] { end = pretend::run_forked([&] { return put_all('a'); }); });
  put_all('b');
  other.join();
  EXPECT_TRUE(end.said);
  std::size_t there = 0;
  for (std::uint64_t slot = 0; slot < length; ++slot) {
    const auto value = get(*cache, slot);
    there += value == value_of(slot, 'a') || value == value_of(slot, 'b') ? 1U : 0U;
  }
  EXPECT_EQ(there, static_cast<std::size_t>(length));
}

TEST(ManyLimit, is_not_met_by_puts_that_found_no_space_C5) {
  CacheFixture fixture;
  const auto cache =
      must(MultiprocessFileCache::make(fixture.os, fixture.party, 3, space_for(fixture, 3, 3)));
  ASSERT_TRUE(put(*cache, 0, value_of(0, 'a')));
  for (int times = 0; times < 100; ++times) {
    fixture.os.director = pretend::fail_kth(0, std::errc::no_space_on_device, Call::write_at);
    EXPECT_FALSE(put(*cache, 1, value_of(1, 'a')));
  }
  // The other object takes space after it meanwhile, so that it cannot be given back.
  pretend::DirectedOs other_os;
  const auto other = must(MultiprocessFileCache::attach(other_os, cache->handle()));
  fixture.os.director = [&](const Crossing& crossed) -> std::optional<std::errc> {
    if (crossed.call != Call::write_at) {
      return std::nullopt;
    }
    EXPECT_TRUE(put(*other, 2, value_of(2, 'a')));
    return std::errc::no_space_on_device;
  };
  EXPECT_FALSE(put(*cache, 1, value_of(1, 'a')));
  fixture.os.director = nullptr;
  EXPECT_TRUE(put(*cache, 1, value_of(1, 'a')));
  for (std::uint64_t slot = 0; slot < 3; ++slot) {
    EXPECT_EQ(get_all_ways(*cache, slot), value_of(slot, 'a'));
  }
}

/// Two objects of one cache, which has space for one of two values.
struct Tight {
  Tight() {
    made =
        must(MultiprocessFileCache::make(fixture.os, fixture.party, 2, space_for(fixture, 2, 1)));
    attached = must(MultiprocessFileCache::attach(other_os, made->handle()));
  }
  CacheFixture fixture;
  pretend::DirectedOs other_os;
  std::unique_ptr<MultiprocessFileCache> made;
  std::unique_ptr<MultiprocessFileCache> attached;
};

TEST(ManyLimit, with_space_for_one_value_has_one_wherever_two_meet_C5) {
  for (const std::uint64_t other_slot : {0U, 1U}) {
    std::unique_ptr<Tight> tight;
    bool won = false;
    bool other_won = false;
    // The two have an Os each: the director of the first does not see the calls of the second.
    for (std::size_t n = 0;; ++n) {
      SCOPED_TRACE(n);
      tight = std::make_unique<Tight>();
      const bool came = pretend::at_moment(
          tight->fixture.os,
          n,
          [&] { won = put(*tight->made, 0, value_of(0, 'a')); },
          [&] { other_won = put(*tight->attached, other_slot, value_of(other_slot, 'b')); });
      if (!came) {
        break;
      }
      EXPECT_NE(won, other_won) << "one of them fits, and no more than one";
      EXPECT_EQ(get_all_ways(*tight->made, 0).has_value(), won || other_slot == 0);
      if (other_slot == 1) {
        EXPECT_EQ(get_all_ways(*tight->made, 1).has_value(), other_won);
        EXPECT_FALSE(put(*tight->attached, 1, "late")) << "it is frozen";
      }
    }
  }
}

TEST(ManyLimit, is_not_eaten_by_who_was_killed_at_whatever_moment_C5) {
  constexpr std::int64_t length = 60;
  CacheFixture fixture;
  const auto cache = must(MultiprocessFileCache::make(
      fixture.os, fixture.party, length, space_for(fixture, length, length)));
  std::size_t died = 0;
  std::uint64_t n = 0;
  for (bool was_killed = true; was_killed; ++n) {
    const pretend::ForkedEnd end = pretend::run_forked([&] {
      static_cast<void>(pretend::at_moment(
          fixture.os,
          n,
          [&] { static_cast<void>(put(*cache, n, value_of(n, 'k'))); },
          [] { pretend::die(); }));
      return true;
    });
    was_killed = end.was_killed;
    died += was_killed ? 1U : 0U;
  }
  EXPECT_GT(died, 6U);
  ASSERT_LT(n, static_cast<std::uint64_t>(length));
  // Each slot once: space that the dead process had counted is in its slot, and the rest is free.
  for (std::uint64_t slot = 0; slot < length; ++slot) {
    static_cast<void>(put(*cache, slot, value_of(slot, 'a')));
    const auto value = get_all_ways(*cache, slot);
    EXPECT_TRUE(value == value_of(slot, 'a') || value == value_of(slot, 'k')) << slot;
  }
}

TEST(ManyLimit, is_not_met_by_what_an_outsider_says_was_counted_C7) {
  CacheFixture fixture;
  const auto cache =
      must(MultiprocessFileCache::make(fixture.os, fixture.party, 3, space_for(fixture, 3, 3)));
  ASSERT_TRUE(put(*cache, 0, value_of(0, 'a')));
  constexpr std::uint64_t last_at = 136;
  const std::string path = cache->handle().substr(cache->handle().find('/'));
  const auto file = must(os::open_file(fixture.os, path, {.write = true}));
  for (const std::uint64_t offset : {std::uint64_t{1},
                                     std::uint64_t{16},
                                     std::uint64_t{288 + 8},
                                     std::uint64_t{1} << 40U,
                                     std::uint64_t{1} << 62U,
                                     ~std::uint64_t{0}}) {
    SCOPED_TRACE(offset);
    ASSERT_TRUE(
        os::write_all_at(fixture.os, file.get(), std::as_bytes(std::span(&offset, 1)), last_at));
    EXPECT_EQ(pretend::code_of(cache->put(1, os::bytes_of("one"))), std::errc::bad_message);
  }
}

}  // namespace
}  // namespace lastref
