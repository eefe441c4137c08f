// sweep_test: a start removes caches of a dead process that no tracker knows, and leaves others
// alone.
#include "impl/cache/sweep.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/cache/cache_fixture.hpp"
#include "property_tests/impl/cache/forked.hpp"

namespace lastref {
namespace {

using pretend::CacheFixture;
using pretend::CacheKind;
using pretend::get;
using pretend::must;
using pretend::put;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// The pid that the child reports.
enum class ChildPid : std::uint8_t {
  own,
  parents,  ///< As in a container, where each start has the same pid.
};

constexpr ChildPid child_pids[] = {ChildPid::own, ChildPid::parents};

/// Runs `act` in a process that is then killed. Its counts die with it: no tracker knows them.
void die_after(CacheFixture& fixture, ChildPid pid, const std::function<void()>& act) {
  const pretend::ForkedEnd end = pretend::run_forked([&] {
    if (pid == ChildPid::own) {
      fixture.os.pid = fixture.os.real_pid();
    }
    act();
    pretend::die();
    return true;
  });
  ASSERT_TRUE(end.was_killed);
}

TEST(CacheSweep, removes_the_live_file_of_a_dead_process_that_nobody_knows_of_E14_M7) {
  for (const ChildPid pid : child_pids) {
    for (const CacheKind kind : {CacheKind::many, CacheKind::file}) {
      CacheFixture fixture;
      die_after(fixture, pid, [&] {
        const auto cache = fixture.make_many(4);
        static_cast<void>(put(*cache, 0, "zero"));
        pretend::die();
      });
      ASSERT_THAT(fixture.folder.names(), SizeIs(2));
      const auto next = fixture.make(kind, 4);
      EXPECT_THAT(fixture.folder.names(), SizeIs(kind == CacheKind::many ? 2 : 0));
      ASSERT_TRUE(next->close());
      EXPECT_THAT(fixture.folder.names(), IsEmpty());
    }
  }
}

TEST(CacheSweep, removes_what_was_not_finished_at_whatever_moment_its_process_died_E14_M7) {
  bool was_killed = true;
  std::size_t n = 0;
  for (; was_killed; ++n) {
    SCOPED_TRACE(n);
    CacheFixture fixture;
    const pretend::ForkedEnd end = pretend::run_forked([&] {
      std::size_t moment = 0;
      fixture.os.director = [&](const pretend::Crossing&) -> std::optional<std::errc> {
        if (moment++ == n) {
          pretend::die();
        }
        return std::nullopt;
      };
      const auto cache = fixture.make_many(4);
      static_cast<void>(put(*cache, 0, "zero"));
      static_cast<void>(cache->preserve("kept", false));
      return cache->close().has_value();
    });
    was_killed = end.was_killed;
    EXPECT_TRUE(was_killed || end.said);
    ASSERT_TRUE(fixture.make_many(1)->close());
    const auto names = fixture.folder.names();
    if (!names.empty()) {
      EXPECT_THAT(names, ElementsAre("kept"));
      fixture.folder.remove("kept");
    }
  }
  EXPECT_GT(n, 20U);
}

TEST(CacheSweep, leaves_the_caches_of_the_living_alone_E14_E3) {
  CacheFixture fixture;
  const auto first = fixture.make_many(4);
  ASSERT_TRUE(put(*first, 0, "zero"));
  // The same process attaches it, and makes others: that drops no lock.
  ASSERT_TRUE(must(MultiprocessFileCache::attach(fixture.os, first->handle()))->close());
  const auto second = fixture.make_many(4);
  ASSERT_TRUE(fixture.make_many(4)->close());
  ASSERT_THAT(fixture.folder.names(), SizeIs(4));
  for (const ChildPid pid : child_pids) {
    die_after(fixture, pid, [&] { static_cast<void>(fixture.make_many(4)); });
    EXPECT_THAT(fixture.folder.names(), SizeIs(4));
  }
  EXPECT_TRUE(MultiprocessFileCache::attach(fixture.os, first->handle()).has_value());
  EXPECT_TRUE(MultiprocessFileCache::attach(fixture.os, second->handle()).has_value());
}

TEST(CacheSweep, leaves_alone_what_is_no_live_cache_E14) {
  CacheFixture fixture;
  const std::string base = "12-0123456789abcdef0123456789abcdef";
  const auto keep = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      fixture.folder.write(name, "precious");
    }
    ASSERT_TRUE(fixture.make_many(1)->close());
    for (const std::string& name : names) {
      EXPECT_TRUE(fixture.folder.exists(name)) << name;
      fixture.folder.remove(name);
    }
  };
  // No lock file for them; names that are nearly those of a cache.
  keep({base + ".cache", base + ".part"});
  keep({"12-0123.lock", "12-0123.cache", "x" + base + ".lock", base + ".locks", base});
  keep({"12-0123456789abcdef0123456789abcdeX.lock", "-0123456789abcdef0123456789abcdef.lock"});
  // A lock file, but the other file is no live cache: a preserved one, for example.
  fixture.folder.write(base + ".lock", "");
  fixture.folder.write(base + ".cache", "precious");
  ASSERT_TRUE(fixture.make_many(1)->close());
  EXPECT_THAT(fixture.folder.names(), ElementsAre(base + ".cache"));
  fixture.folder.remove(base + ".cache");
  // Of another user.
  fixture.folder.write(base + ".lock", "");
  const auto user = fixture.os.user;
  fixture.os.user = user + 1;
  cache::sweep_dead(fixture.os, fixture.folder.path());
  EXPECT_THAT(fixture.folder.names(), ElementsAre(base + ".lock"));
  fixture.os.user = user;
  cache::sweep_dead(fixture.os, fixture.folder.path());
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
  // A symlink is not followed.
  fixture.folder.write("target", "precious");
  fixture.folder.link(base + ".lock", fixture.folder.path("target"));
  cache::sweep_dead(fixture.os, fixture.folder.path());
  EXPECT_EQ(fixture.folder.read("target"), "precious");
  fixture.folder.remove(base + ".lock");
  fixture.folder.remove("target");
}

TEST(CacheSweep, says_what_it_could_not_remove_unless_somebody_has_it_E14) {
  CacheFixture fixture;
  const std::string base = "12-0123456789abcdef0123456789abcdef";
  for (const std::errc error : {std::errc::io_error, std::errc::permission_denied}) {
    for (const Call call : {Call::status_at, Call::read_at, Call::unlink}) {
      fixture.folder.write(base + ".lock", "");
      fixture.folder.write(base + ".cache", "");
      fixture.os.said.clear();
      fixture.os.director = [&](const pretend::Crossing& crossed) {
        return crossed.call == call ? std::optional(error) : std::nullopt;
      };
      cache::sweep_dead(fixture.os, fixture.folder.path());
      fixture.os.director = nullptr;
      const bool is_news = error == std::errc::io_error;
      EXPECT_EQ(!fixture.os.said.empty(), is_news) << name_of(call) << ' ' << fixture.os.said;
      EXPECT_TRUE(fixture.folder.exists(base + ".lock"));
      cache::sweep_dead(fixture.os, fixture.folder.path());
      EXPECT_THAT(fixture.folder.names(), IsEmpty());
    }
  }
}

TEST(CacheSweep, takes_nothing_from_who_has_the_dead_process_s_cache_E14) {
  CacheFixture fixture;
  std::unique_ptr<MultiprocessFileCache> attached;
  const auto pipe = must(fixture.os.make_pipe());
  const os::UniqueFd read(fixture.os, pipe.read);
  const os::UniqueFd write(fixture.os, pipe.write);
  die_after(fixture, ChildPid::own, [&] {
    const auto cache = fixture.make_many(4);
    static_cast<void>(put(*cache, 0, "zero"));
    static_cast<void>(os::write_all(fixture.os, write.get(), os::bytes_of(cache->handle())));
    pretend::die();
  });
  std::string handle(4096, '\0');
  handle.resize(must(fixture.os.read(read.get(), std::as_writable_bytes(std::span(handle)))));
  attached = must(MultiprocessFileCache::attach(fixture.os, handle));
  ASSERT_TRUE(fixture.make_many(1)->close());
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
  EXPECT_TRUE(put(*attached, 1, "one"));
  EXPECT_EQ(get(*attached, 0), "zero");
  EXPECT_EQ(get(*attached, 1), "one");
}

TEST(CacheSweep, between_the_making_of_a_lock_and_its_taking_costs_another_name_and_no_cache_E14) {
  CacheFixture fixture;
  std::size_t swept = 0;
  fixture.os.after = [&](const pretend::Crossing& crossed) {
    if (crossed.call == Call::open && crossed.subject.ends_with(".lock") && swept < 3) {
      ++swept;
      // Like the sweep of another process, which finds it free.
      std::filesystem::remove(crossed.subject);
    }
  };
  const auto cache = fixture.make_many(1);
  fixture.os.after = nullptr;
  EXPECT_EQ(swept, 3U);
  EXPECT_THAT(fixture.folder.names(), SizeIs(2));
  EXPECT_THAT(fixture.counts.names(ResourceType::file), SizeIs(2));
}

TEST(ManyFile, stays_when_a_forked_child_ends_its_copy_even_with_its_parents_pid_E8) {
  CacheFixture fixture;
  auto cache = fixture.make_many(1);
  ASSERT_TRUE(put(*cache, 0, "zero"));
  const pretend::ForkedEnd end = pretend::run_forked([&] {
    cache.reset();
    return true;
  });
  EXPECT_TRUE(end.said);
  EXPECT_THAT(fixture.folder.names(), SizeIs(2));
  EXPECT_TRUE(MultiprocessFileCache::attach(fixture.os, cache->handle()).has_value());
}

}  // namespace
}  // namespace lastref
