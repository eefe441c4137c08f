// many_test: the cache that many processes share: its order of writes, step by step, with other
// processes in between; and its limit. The limit applies to the values that it has, and to nothing
// else, whichever process failed, lost a race or died on the way.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/cache/cache_fixture.hpp"
#include "property_tests/impl/cache/forked.hpp"
#include "property_tests/support/directed_os.hpp"

namespace lastref {
namespace {

using pretend::CacheFixture;
using pretend::code_of;
using pretend::Crossing;
using pretend::get;
using pretend::get_all_ways;
using pretend::must;
using pretend::put;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Value = std::optional<std::string>;

/// Two objects of one cache: one that made it, and one that has attached it.
struct Two {
  explicit Two(std::int64_t length, SlotCacheOptions options = {}) {
    options.folder = fixture.folder.path();
    made = must(MultiprocessFileCache::make(fixture.os, fixture.party, length, options));
    attached = must(MultiprocessFileCache::attach(other_os, made->handle()));
  }

  CacheFixture fixture;
  pretend::DirectedOs other_os;
  std::unique_ptr<MultiprocessFileCache> made;
  std::unique_ptr<MultiprocessFileCache> attached;
};

/// Runs `act`, with `between` before its n-th call or step, from 0; returns whether there was one.
bool at_moment(pretend::DirectedOs& os,
               std::size_t n,
               const std::function<void()>& act,
               const std::function<void()>& between) {
  std::size_t moment = 0;
  bool came = false;
  const auto count = [&] {
    if (moment++ == n) {
      came = true;
      between();
    }
  };
  os.director = [&](const Crossing&) -> std::optional<std::errc> {
    count();
    return std::nullopt;
  };
  os.at_step = [&](Step) { count(); };
  act();
  os.director = nullptr;
  os.at_step = nullptr;
  return came;
}

/// Runs `act` with `between` before its n-th call or step, for each n.
void at_each_moment(pretend::DirectedOs& os,
                    const std::function<void(std::size_t n)>& prepare,
                    const std::function<void()>& act,
                    const std::function<void()>& between,
                    const std::function<void(bool came)>& check) {
  for (std::size_t n = 0;; ++n) {
    SCOPED_TRACE(n);
    prepare(n);
    const bool came = at_moment(os, n, act, between);
    check(came);
    if (!came) {
      return;
    }
  }
}

constexpr std::size_t longer_than_copied = 20'000;

TEST(ManyWriters, of_one_slot_have_one_winner_whose_value_is_whole_C3_C4) {
  for (const std::size_t size : {std::size_t{10}, longer_than_copied}) {
    const std::string here(size, 'h');
    const std::string there(size + 7, 't');
    Two two(200);
    std::uint64_t slot = 0;
    bool won = false;
    bool other_won = false;
    Value seen;
    at_each_moment(
        two.fixture.os,
        [&](std::size_t n) { slot = n; },
        [&] { won = put(*two.made, slot, here); },
        [&] {
          seen = get(*two.attached, slot);
          other_won = put(*two.attached, slot, there);
          EXPECT_EQ(get(*two.attached, slot), other_won ? there : here);
        },
        [&](bool came) {
          EXPECT_EQ(seen.has_value(), came && !other_won);
          EXPECT_NE(won, came && other_won);
          EXPECT_EQ(get_all_ways(*two.made, slot), won ? here : there);
          EXPECT_EQ(get_all_ways(*two.attached, slot), won ? here : there);
          seen.reset();
        });
    EXPECT_GT(slot, 4U);
  }
}

TEST(ManyWriters, of_different_slots_do_not_meet_C3_C4) {
  Two two(400);
  std::uint64_t slot = 0;
  at_each_moment(
      two.fixture.os,
      [&](std::size_t n) { slot = 2 * n; },
      [&] { EXPECT_TRUE(put(*two.made, slot, "here " + std::to_string(slot))); },
      [&] { EXPECT_TRUE(put(*two.attached, slot + 1, "there " + std::to_string(slot))); },
      [&](bool) {});
  for (std::uint64_t each = 0; each < slot; each += 2) {
    EXPECT_EQ(get(*two.made, each + 1), "there " + std::to_string(each));
    EXPECT_EQ(get(*two.attached, each), "here " + std::to_string(each));
  }
}

TEST(ManyWriters, killed_at_any_moment_leave_no_value_or_all_of_it_C3_C4) {
  const std::string value(longer_than_copied, 'v');
  CacheFixture fixture;
  const auto cache = fixture.make_many(200);
  std::size_t died = 0;
  for (std::uint64_t n = 0;; ++n) {
    const pretend::ForkedEnd end = pretend::run_forked([&] {
      std::uint64_t moment = 0;
      const auto count = [&] {
        if (moment++ == n) {
          pretend::die();
        }
      };
      fixture.os.director = [&](const Crossing&) -> std::optional<std::errc> {
        count();
        return std::nullopt;
      };
      fixture.os.at_step = [&](Step) { count(); };
      return put(*cache, n, value);
    });
    const Value found = get_all_ways(*cache, n);
    EXPECT_THAT(found, AnyOf(Value(), Value(value)));
    // No later call has to wait, and a slot that was not published is free.
    EXPECT_EQ(put(*cache, n, "after"), !found);
    EXPECT_EQ(get(*cache, n), found ? value : "after");
    died += end.was_killed ? 1 : 0;
    if (!end.was_killed) {
      EXPECT_TRUE(end.said);
      EXPECT_EQ(found, value);
      break;
    }
  }
  EXPECT_GT(died, 5U);
}

TEST(ManyWriters, who_preserves_has_what_was_counted_and_no_more_C7) {
  Two two(2);
  bool stored = false;
  at_each_moment(
      two.other_os,
      [&](std::size_t n) {
        two.made = two.fixture.make_many(2);
        two.attached = must(MultiprocessFileCache::attach(two.other_os, two.made->handle()));
        ASSERT_TRUE(put(*two.made, 0, "zero" + std::to_string(n)));
      },
      [&] { stored = put(*two.attached, 1, "one"); },
      [&] { EXPECT_TRUE(must(two.made->preserve("kept", true))); },
      [&](bool came) {
        if (!came) {
          ASSERT_TRUE(must(two.made->preserve("kept", true)));
        }
        const auto loaded = two.fixture.make(pretend::CacheKind::memory, 2);
        ASSERT_TRUE(must(loaded->preload("kept")));
        EXPECT_EQ(get(*loaded, 1), stored ? Value("one") : Value());
        EXPECT_EQ(get(*two.made, 1), stored ? Value("one") : Value());
        EXPECT_EQ(get(*two.attached, 1), stored ? Value("one") : Value());
      });
  two.fixture.folder.remove("kept");
}

TEST(ManyWriters, all_see_that_it_is_frozen_C5) {
  Two two(8, {.size_limit = 1000});
  ASSERT_TRUE(put(*two.made, 0, "zero"));
  EXPECT_FALSE(put(*two.attached, 1, std::string(1000, 'x')));
  EXPECT_FALSE(put(*two.made, 2, "two"));
  EXPECT_FALSE(put(*two.attached, 2, "two"));
  EXPECT_EQ(get(*two.attached, 0), "zero");
  EXPECT_EQ(get(*two.made, 0), "zero");
}

TEST(ManyWriters, under_way_do_not_outlive_the_first_that_the_limit_refuses_C5) {
  const SlotCacheOptions limited = {.size_limit = 1000};
  Two two(2, limited);
  bool won = false;
  Value seen;
  at_each_moment(
      two.fixture.os,
      [&](std::size_t) {
        SlotCacheOptions options = limited;
        options.folder = two.fixture.folder.path();
        two.made = must(MultiprocessFileCache::make(two.fixture.os, two.fixture.party, 2, options));
        two.attached = must(MultiprocessFileCache::attach(two.other_os, two.made->handle()));
      },
      [&] { won = put(*two.made, 0, "zero"); },
      [&] {
        EXPECT_FALSE(put(*two.attached, 1, std::string(1000, 'x')));
        seen = get(*two.attached, 0);
      },
      [&](bool came) {
        EXPECT_EQ(won, !came || seen.has_value());
        EXPECT_EQ(get_all_ways(*two.made, 0), won ? Value("zero") : Value());
        seen.reset();
      });
}

TEST(ManyWriters, never_make_the_file_longer_than_its_limit_C5) {
  // The last record fits in whole, or lacks the space for a part of its head or of its value.
  for (std::int64_t limit = 3000; limit < 3100; ++limit) {
    Two two(100, {.size_limit = limit});
    for (std::uint64_t slot = 0; slot < 100; ++slot) {
      put(slot % 2 == 0 ? *two.made : *two.attached, slot, std::string(50, 'x'));
    }
    EXPECT_LE(
        must(two.fixture.os.status_at(two.fixture.folder.path(two.fixture.folder.names().front())))
            .size,
        static_cast<std::uint64_t>(limit));
    EXPECT_EQ(get(*two.attached, 0), std::string(50, 'x'));
  }
}

TEST(ManyWriters, who_loads_freezes_those_who_have_the_old_file_C7) {
  Two two(2);
  ASSERT_TRUE(put(*two.made, 0, "old"));
  ASSERT_TRUE(must(two.made->preserve("kept", false)));
  Two next(2);
  ASSERT_TRUE(put(*next.attached, 0, "new"));
  std::filesystem::copy(two.fixture.folder.path("kept"), next.fixture.folder.path("kept"));
  ASSERT_TRUE(must(next.made->preload("kept")));
  EXPECT_EQ(get_all_ways(*next.made, 0), "old");
  // The attached object keeps what it has mapped, and the file has no name any more.
  EXPECT_EQ(get_all_ways(*next.attached, 0), "new");
  EXPECT_FALSE(put(*next.attached, 1, "late"));
  EXPECT_THAT(next.fixture.folder.names(), ElementsAre("kept"));
  EXPECT_TRUE(next.fixture.counts.empty());
  // The loaded contents can be attached too.
  const auto attached = must(MultiprocessFileCache::attach(next.other_os, next.made->handle()));
  EXPECT_EQ(get_all_ways(*attached, 0), "old");
  EXPECT_EQ(get_all_ways(*attached, 1), Value());
  EXPECT_FALSE(put(*attached, 1, "late"));
  next.fixture.folder.remove("kept");
  two.fixture.folder.remove("kept");
}

TEST(ManyWriters, sync_a_durable_value_before_it_is_seen_and_its_slot_before_they_return_C9) {
  Two two(1, {.is_durable = true});
  std::vector<Value> seen;
  two.fixture.os.crossings.clear();
  two.fixture.os.after = [&](const Crossing& crossed) {
    if (crossed.call == Call::sync) {
      seen.push_back(get(*two.attached, 0));
    }
  };
  ASSERT_TRUE(put(*two.made, 0, "zero"));
  two.fixture.os.after = nullptr;
  EXPECT_THAT(seen, ElementsAre(Value(), Value("zero")));
  ASSERT_GE(two.fixture.os.crossings.size(), 3U);
  EXPECT_EQ(two.fixture.os.crossings[0].call, Call::write_at);
  EXPECT_EQ(two.fixture.os.crossings[1].call, Call::sync);
  // An object that attaches it is durable too.
  two.other_os.crossings.clear();
  Two other(1, {.is_durable = true});
  ASSERT_TRUE(put(*other.attached, 0, "zero"));
  EXPECT_EQ(other.other_os.count_of(Call::sync), 2U);
}

TEST(ManyWriters, sync_nothing_unless_they_are_asked_to_C9) {
  Two two(1);
  ASSERT_TRUE(put(*two.made, 0, "zero"));
  ASSERT_TRUE(must(two.made->preserve("kept", false)));
  EXPECT_EQ(two.fixture.os.count_of(Call::sync), 0U);
  two.fixture.folder.remove("kept");
}

TEST(ManyWriters, tell_of_a_sync_that_fails_C9) {
  for (const std::size_t k : {0U, 1U}) {
    Two two(1, {.is_durable = true});
    two.fixture.os.director = pretend::fail_kth(k, std::errc::io_error, Call::sync);
    EXPECT_EQ(code_of(two.made->put(0, os::bytes_of("zero"))), std::errc::io_error);
    two.fixture.os.director = nullptr;
    EXPECT_EQ(get(*two.attached, 0), k == 0 ? Value() : Value("zero"));
  }
}

TEST(ManyWriters, who_find_no_space_give_back_what_they_took_C5) {
  Two two(4);
  const std::string value(longer_than_copied, 'v');
  const std::string path = two.fixture.folder.path(two.fixture.folder.names().front());
  ASSERT_TRUE(put(*two.made, 0, value));
  const auto before = must(two.fixture.os.status_at(path)).size;
  // The head of the record is written, its value is not.
  two.fixture.os.director = pretend::fail_kth(1, std::errc::no_space_on_device, Call::write_at);
  EXPECT_FALSE(put(*two.made, 1, value));
  two.fixture.os.director = nullptr;
  EXPECT_EQ(two.fixture.os.count_of(Call::punch_hole), 1U);
  ASSERT_TRUE(put(*two.attached, 2, value));
  const auto after = must(two.fixture.os.status_at(path)).size;
  EXPECT_LT(after, before + longer_than_copied + 64);
  EXPECT_EQ(get_all_ways(*two.made, 2), value);
}

TEST(ManyReaders, make_no_call_and_change_no_word_once_it_is_mapped_C1) {
  Two two(1000);
  for (std::uint64_t slot = 0; slot < 1000; ++slot) {
    ASSERT_TRUE(put(*two.made, slot, std::string(1000, 'x')));
  }
  static_cast<void>(get(*two.attached, 999));
  two.other_os.crossings.clear();
  std::vector<Step> steps;
  two.other_os.at_step = [&](Step step) { steps.push_back(step); };
  for (std::uint64_t slot = 0; slot < 1000; ++slot) {
    EXPECT_EQ(get(*two.attached, slot), std::string(1000, 'x'));
  }
  EXPECT_THAT(two.other_os.crossings, IsEmpty());
  EXPECT_THAT(steps, SizeIs(1000));
  EXPECT_THAT(steps, testing::Each(Step::word_load));
}

TEST(ManyReaders, that_cannot_map_the_file_name_it_and_the_limits_E10) {
  CacheFixture fixture;
  pretend::DirectedOs other_os;
  const auto made =
      must(MultiprocessFileCache::make(fixture.os, fixture.party, 4, fixture.options()));
  ASSERT_TRUE(put(*made, 0, "x"));
  const std::string handle = made->handle();
  const std::string path = handle.substr(handle.find('/'));
  for (std::size_t map = 0; map < 2; ++map) {
    other_os.director = pretend::fail_kth(map, std::errc::not_enough_memory, Call::map);
    auto attached = MultiprocessFileCache::attach(other_os, handle);
    const Status told = attached ? status_of((*attached)->get(0)) : status_of(attached);
    ASSERT_FALSE(told) << map;
    EXPECT_THAT(describe(told.error()), testing::HasSubstr(path));
    EXPECT_THAT(describe(told.error()), testing::HasSubstr("RLIMIT_AS"));
    EXPECT_THAT(describe(told.error()), testing::HasSubstr("vm.max_map_count"));
  }
}

TEST(ManyReaders, map_a_growing_file_as_often_as_it_doubles_C1) {
  Two two(2000);
  std::vector<std::optional<CachedBytes>> views;
  for (std::uint64_t slot = 0; slot < 2000; ++slot) {
    ASSERT_TRUE(put(*two.made, slot, std::to_string(slot) + std::string(1000, 'x')));
    views.push_back(must(two.attached->view(slot)));
  }
  // 64 KiB, 128 KiB, ... 2 MiB, and the head before.
  EXPECT_LE(two.other_os.count_of(Call::map), 8U);
  two.attached.reset();
  for (std::uint64_t slot = 0; slot < 2000; ++slot) {
    EXPECT_EQ(pretend::text_of(views[slot]), std::to_string(slot) + std::string(1000, 'x'));
  }
}

TEST(ManyFile, goes_with_the_process_that_made_it_alone_C6) {
  CacheFixture fixture;
  auto cache = fixture.make_many(1);
  ASSERT_TRUE(put(*cache, 0, "zero"));
  ASSERT_THAT(fixture.folder.names(), SizeIs(2));
  EXPECT_THAT(fixture.counts.names(ResourceType::file), SizeIs(2));
  const std::string handle = cache->handle();
  {
    pretend::DirectedOs other;
    const auto attached = must(MultiprocessFileCache::attach(other, handle));
    ASSERT_TRUE(attached->close());
  }
  EXPECT_THAT(fixture.folder.names(), SizeIs(2));
  // A forked child has a copy of the object, and destroys it.
  const pretend::ForkedEnd end = pretend::run_forked([&] {
    fixture.os.pid = fixture.os.real_pid();
    const bool is_right = get(*cache, 0) == "zero" && cache->close() && !put(*cache, 0, "late");
    cache.reset();
    return is_right;
  });
  EXPECT_TRUE(end.said);
  EXPECT_THAT(fixture.folder.names(), SizeIs(2));
  EXPECT_EQ(get(*cache, 0), "zero");
  cache.reset();
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
  EXPECT_TRUE(fixture.counts.empty());
}

TEST(ManyFile, has_its_name_counted_before_it_is_there_C6) {
  CacheFixture fixture;
  std::vector<std::string> before_open;
  fixture.os.director = [&](const Crossing& crossed) -> std::optional<std::errc> {
    if (crossed.call == Call::open && crossed.subject.starts_with(fixture.folder.path() + '/')) {
      EXPECT_THAT(fixture.counts.names(ResourceType::file), testing::Contains(crossed.subject));
      before_open = fixture.counts.names(ResourceType::file);
    }
    return std::nullopt;
  };
  const auto cache = fixture.make_many(1);
  fixture.os.director = nullptr;
  EXPECT_THAT(before_open, SizeIs(2));
}

TEST(ManyFile, is_private_from_its_first_instant_C2) {
  CacheFixture fixture;
  SlotCacheOptions options;
  options.folder = fixture.folder.path("new/folder");
  auto cache = must(MultiprocessFileCache::make(fixture.os, fixture.party, 1, options));
  EXPECT_EQ(must(fixture.os.status_at(fixture.folder.path("new"))).mode, 0700U);
  EXPECT_EQ(must(fixture.os.status_at(fixture.folder.path("new/folder"))).mode, 0700U);
  for (const std::string& name : fixture.folder.names()) {
    if (name.ends_with(".cache")) {
      EXPECT_EQ(must(fixture.os.status_at(fixture.folder.path(name))).mode, 0600U);
    }
  }
  cache.reset();
  fixture.folder.remove("new/folder");
  fixture.folder.remove("new");
}

TEST(ManyFile, of_somebody_else_in_its_place_is_left_alone_C6) {
  CacheFixture fixture;
  auto cache = fixture.make_many(1);
  const std::string name = fixture.folder.names().front();
  fixture.folder.remove(name);
  fixture.folder.write(name, "precious");
  cache.reset();
  EXPECT_EQ(fixture.folder.read(name), "precious");
  EXPECT_TRUE(fixture.counts.empty());
  fixture.folder.remove(name);
}

TEST(ManyFile, that_cannot_be_removed_is_left_to_the_tracker_C6) {
  CacheFixture fixture;
  auto cache = fixture.make_many(1);
  fixture.os.director = pretend::fail_kth(0, std::errc::permission_denied, Call::unlink);
  EXPECT_EQ(cache->close().error().code, std::errc::permission_denied);
  fixture.os.director = nullptr;
  // The count has removed the file with the name's last reference.
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
}

constexpr std::size_t value_size = 112;

/// With space for that many values of that size.
SlotCacheOptions space_for(const CacheFixture& fixture, std::int64_t length, std::int64_t values) {
  SlotCacheOptions options = fixture.options();
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
  GTEST_SKIP() << "a child that is forked while a thread is busy may have a lock of "
                  "AddressSanitizer that is never released";
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
      const bool came = at_moment(
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
      static_cast<void>(at_moment(
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
