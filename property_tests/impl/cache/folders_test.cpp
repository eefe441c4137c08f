// folders_test: which bytes of a cache are on which file system and under which name, and what is
// reported if there is no space for them.
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/owners.hpp>

#include "property_tests/impl/cache/cache_fixture.hpp"
#include "property_tests/impl/cache/forked.hpp"
#include "property_tests/impl/cache/maps.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref {
namespace {

using pretend::CacheFixture;
using pretend::CacheKind;
using pretend::code_of;
using pretend::Crossing;
using pretend::get;
using pretend::get_all_ways;
using pretend::must;
using pretend::put;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t btrfs = 0x9123683e;
constexpr std::uint64_t overlay = 0x794c7630;
constexpr std::uint64_t tmpfs = 0x01021994;

/// A folder on a file system where a store may need space, and another one for words.
struct OnWrite : CacheFixture {
  explicit OnWrite(std::uint64_t kind = btrfs) {
    os.file_system_kinds = {
        {folder.path(), kind}, {"/dev/shm", tmpfs}, {"/tmp", tmpfs}, {"/var/tmp", btrfs}};
    os.mounts = {{"/dev/shm", words.path()}};
    counts.real = [this](const std::string& path) { return os.real(path); };
  }

  pretend::FreshFolder words;
};

TEST(CacheFiles, are_known_by_more_than_their_names_E4) {
  OnWrite fixture;
  const auto cache = fixture.make_many(100);
  const std::vector<std::string> paths = fixture.counts.names(ResourceType::file);
  EXPECT_THAT(paths, SizeIs(3));
  for (const std::string& path : paths) {
    ASSERT_TRUE(fixture.counts.identities.contains(path)) << path;
    EXPECT_EQ(fixture.counts.identities.at(path),
              os::identity_of(must(fixture.os.status_at(path))));
  }
}

TEST(ManyWords, are_never_stored_where_a_store_may_need_space_E14) {
  for (const std::uint64_t kind : {btrfs, overlay}) {
    OnWrite fixture(kind);
    auto cache = fixture.make_many(1000);
    const auto attached = must(MultiprocessFileCache::attach(fixture.os, cache->handle()));
    ASSERT_TRUE(put(*cache, 0, "zero"));
    ASSERT_TRUE(put(*attached, 1, std::string(100'000, 'x')));
    EXPECT_FALSE(put(*cache, 1, "one"));
    EXPECT_EQ(get_all_ways(*attached, 0), "zero");
    EXPECT_EQ(get_all_ways(*cache, 1), std::string(100'000, 'x'));
    // No file there is mapped for writing.
    EXPECT_EQ(pretend::writable_maps_of(fixture.folder.path()), 0U);
    EXPECT_EQ(pretend::writable_maps_of(fixture.words.path()), 2U);
    EXPECT_THAT(fixture.words.names(), ElementsAre(EndsWith(".words")));
    ASSERT_TRUE(must(cache->preserve("kept", false)));
    EXPECT_FALSE(put(*attached, 2, "two"));
    ASSERT_TRUE(cache->close());
    EXPECT_THAT(fixture.words.names(), IsEmpty());
    EXPECT_THAT(fixture.folder.names(), ElementsAre("kept"));
    EXPECT_TRUE(fixture.counts.empty());
    const auto loaded = fixture.make_many(1000);
    ASSERT_TRUE(must(loaded->preload("kept")));
    EXPECT_EQ(get_all_ways(*loaded, 0), "zero");
    EXPECT_THAT(fixture.words.names(), IsEmpty());
    fixture.folder.remove("kept");
  }
}

TEST(ManyWords, are_beside_the_values_where_they_have_space_for_good_E14) {
  CacheFixture fixture;
  fixture.os.file_system_kind = tmpfs;
  const auto cache = fixture.make_many(1000);
  EXPECT_EQ(pretend::writable_maps_of(fixture.folder.path()), 1U);
}

TEST(ManyWords, go_where_there_is_space_and_their_absence_says_what_each_place_said_E14_E10) {
  OnWrite fixture;
  const auto fail_words_in = [&](std::size_t places) {
    return [places](const Crossing& crossed) -> std::optional<std::errc> {
      const bool is_first = crossed.subject.starts_with("/dev/shm/");
      const bool is_second = crossed.subject.starts_with("/tmp/lastref-");
      const bool is_words = crossed.subject.ends_with(".words") && crossed.call == Call::open;
      return is_words && (is_first || (is_second && places > 1))
                 ? std::optional(std::errc::no_space_on_device)
                 : std::nullopt;
    };
  };
  fixture.os.director = fail_words_in(2);
  const auto none = MultiprocessFileCache::make(fixture.os, fixture.party, 4, fixture.options());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, std::errc::no_space_on_device);
  for (const char* said : {"/dev/shm/lastref-", "/tmp/lastref-", "/var/tmp"}) {
    EXPECT_THAT(describe(none.error()), HasSubstr(said));
  }
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
  EXPECT_TRUE(fixture.counts.empty());
  fixture.os.director = nullptr;
}

TEST(ManyWords, of_a_dead_process_go_with_its_values_E14_M7) {
  OnWrite fixture;
  const pretend::ForkedEnd end = pretend::run_forked([&] {
    const auto cache = fixture.make_many(4);
    pretend::die();
    return true;
  });
  ASSERT_TRUE(end.was_killed);
  ASSERT_THAT(fixture.words.names(), SizeIs(1));
  ASSERT_TRUE(fixture.make_many(4)->close());
  EXPECT_THAT(fixture.words.names(), IsEmpty());
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
}

TEST(ManyWords, of_another_cache_or_none_are_a_typed_error_E14) {
  OnWrite fixture;
  const auto cache = fixture.make_many(4);
  const auto attach = [&] {
    return code_of(MultiprocessFileCache::attach(fixture.os, cache->handle()));
  };
  const std::string name = fixture.words.names().front();
  const std::string words = fixture.words.read(name);
  EXPECT_EQ(attach(), std::errc{});
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, words.size() - 8}) {
    fixture.words.remove(name);
    fixture.words.write(name, words.substr(0, size));
    EXPECT_EQ(attach(), std::errc::bad_message) << size;
  }
  fixture.words.remove(name);
  EXPECT_EQ(attach(), std::errc::no_such_file_or_directory);
  std::string other = words;
  other[40] = other[40] == 'a' ? 'b' : 'a';  // in the id
  fixture.words.write(name, other);
  EXPECT_EQ(attach(), std::errc::bad_message);
  fixture.words.remove(name);
}

TEST(CachePreserve, that_is_durable_has_its_bytes_and_then_its_name_on_the_device_C9) {
  for (const CacheKind kind : pretend::cache_kinds) {
    CacheFixture fixture;
    SlotCacheOptions options = fixture.options();
    options.is_durable = true;
    const auto cache = must(fixture.try_make(kind, 2, options));
    ASSERT_TRUE(put(*cache, 0, "zero"));
    std::vector<bool> had_name;
    fixture.os.after = [&](const Crossing& crossed) {
      if (crossed.call == Call::sync) {
        had_name.push_back(fixture.folder.exists("kept"));
      }
    };
    ASSERT_TRUE(must(cache->preserve("kept", false)));
    fixture.os.after = nullptr;
    EXPECT_THAT(had_name, ElementsAre(false, true));
    // The first sync fails: there is no file. The second fails: the file is complete, but may not
    // survive.
    for (const std::size_t k : {0U, 1U}) {
      fixture.folder.remove("kept");
      fixture.os.director = pretend::fail_kth(k, std::errc::io_error, Call::sync);
      const auto preserved = cache->preserve("kept", false);
      fixture.os.director = nullptr;
      EXPECT_EQ(code_of(preserved), std::errc::io_error);
      EXPECT_THAT(describe(preserved.error()), HasSubstr(fixture.folder.path()));
      EXPECT_EQ(fixture.folder.exists("kept"), k == 1);
    }
    const auto loaded = fixture.make(CacheKind::memory, 2);
    EXPECT_TRUE(must(loaded->preload("kept")));
    EXPECT_EQ(get(*loaded, 0), "zero");
    fixture.folder.remove("kept");
  }
}

TEST(CacheFolder, is_where_it_was_when_the_cache_was_made_E2) {
  for (const CacheKind kind : pretend::cache_kinds) {
    CacheFixture fixture;
    const pretend::FreshFolder elsewhere;
    std::unique_ptr<SlotCache> cache;
    {
      const pretend::WorkingFolder here(fixture.folder.path());
      SlotCacheOptions options;
      options.folder = "caches";
      cache = must(fixture.try_make(kind, 2, options));
      ASSERT_TRUE(put(*cache, 0, "zero"));
    }
    const pretend::WorkingFolder there(elsewhere.path());
    ASSERT_TRUE(must(cache->preserve("kept", false)));
    EXPECT_TRUE(fixture.folder.exists("caches/kept"));
    ASSERT_TRUE(cache->close());
    EXPECT_THAT(elsewhere.names(), IsEmpty());
    fixture.folder.remove("caches/kept");
    fixture.folder.remove("caches");
  }
}

TEST(CacheFolder, of_too_long_a_path_is_a_typed_error_that_states_the_limit_E2) {
  CacheFixture fixture;
  for (const CacheKind kind : pretend::cache_kinds) {
    SlotCacheOptions options;
    options.folder = fixture.folder.path();
    while (options.folder->size() < 4080) {
      *options.folder += "/a";
    }
    const auto made = fixture.try_make(kind, 2, options);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, std::errc::filename_too_long);
    EXPECT_THAT(describe(made.error()), HasSubstr("4043"));
    const auto cache = fixture.make(kind, 2);
    const auto named = cache->preserve(std::string(256, 'n'), false);
    ASSERT_FALSE(named);
    EXPECT_THAT(describe(named.error()), HasSubstr("255 bytes"));
  }
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
}

TEST(CacheLength, beyond_what_is_written_at_once_is_a_typed_error_that_states_the_limit_E10) {
  CacheFixture fixture;
  for (const CacheKind kind : pretend::cache_kinds) {
    const auto made = fixture.try_make(kind, std::int64_t{1} << 32U, fixture.options());
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, std::errc::value_too_large);
    EXPECT_THAT(describe(made.error()), HasSubstr("268435456"));
  }
}

TEST(CacheErrors, of_no_space_name_the_place_and_what_it_is_for_E10) {
  CacheFixture fixture;
  const std::string folder = fixture.folder.path();
  fixture.os.director = pretend::fail_kth(0, std::errc::no_space_on_device, Call::write_at);
  const auto made = MultiprocessFileCache::make(fixture.os, fixture.party, 4, fixture.options());
  ASSERT_FALSE(made);
  EXPECT_THAT(describe(made.error()), HasSubstr(folder));
  const std::string use = describe(made.error());
  pretend::expect_transcript(use.substr(use.find(".cache")));
  EXPECT_THAT(describe(made.error()), testing::Not(HasSubstr("fd ")));
  for (const CacheKind kind : pretend::cache_kinds) {
    fixture.os.said.clear();
    fixture.os.director = nullptr;
    const auto cache = fixture.make(kind, 4);
    if (kind != CacheKind::memory) {
      fixture.os.director = pretend::fail_kth(0, std::errc::no_space_on_device, Call::write_at);
      EXPECT_FALSE(put(*cache, 0, "zero"));
      EXPECT_THAT(fixture.os.said, HasSubstr("slot 0 in " + folder));
    }
    fixture.os.director = pretend::fail_kth(0, std::errc::no_space_on_device, Call::write_at);
    const auto preserved = cache->preserve("kept", false);
    fixture.os.director = nullptr;
    ASSERT_FALSE(preserved);
    EXPECT_THAT(describe(preserved.error()), HasSubstr(folder));
    EXPECT_THAT(describe(preserved.error()), testing::Not(HasSubstr("fd ")));
  }
}

}  // namespace
}  // namespace lastref
