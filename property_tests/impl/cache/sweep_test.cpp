// sweep_test: what a start removes of caches whose process is dead, when nobody knows of them any
// more, and what it leaves alone.
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

#include "property_tests/impl/cache/cache_ground.hpp"
#include "property_tests/impl/cache/forked.hpp"

namespace lastref {
namespace {

using pretend::CacheGround;
using pretend::CacheKind;
using pretend::get;
using pretend::must;
using pretend::put;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// Who the child is.
enum class ChildPid : std::uint8_t {
  own,
  parents,  ///< As in a container, where each start has the same.
};

constexpr ChildPid child_pids[] = {ChildPid::own, ChildPid::parents};

/// A process that does it and is killed. What it has counted dies with it: no tracker knows.
void die_after(CacheGround& ground, ChildPid pid, const std::function<void()>& act) {
  const pretend::ForkedEnd end = pretend::run_forked([&] {
    if (pid == ChildPid::own) {
      ground.os.pid = ground.os.real_pid();
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
      CacheGround ground;
      die_after(ground, pid, [&] {
        const auto cache = ground.make_many(4);
        static_cast<void>(put(*cache, 0, "zero"));
        pretend::die();
      });
      ASSERT_THAT(ground.folder.names(), SizeIs(2));
      const auto next = ground.make(kind, 4);
      EXPECT_THAT(ground.folder.names(), SizeIs(kind == CacheKind::many ? 2 : 0));
      ASSERT_TRUE(next->close());
      EXPECT_THAT(ground.folder.names(), IsEmpty());
    }
  }
}

TEST(CacheSweep, removes_what_was_not_finished_at_whatever_moment_its_process_died_E14_M7) {
  bool was_killed = true;
  std::size_t n = 0;
  for (; was_killed; ++n) {
    SCOPED_TRACE(n);
    CacheGround ground;
    const pretend::ForkedEnd end = pretend::run_forked([&] {
      std::size_t moment = 0;
      ground.os.director = [&](const pretend::Crossing&) -> std::optional<std::errc> {
        if (moment++ == n) {
          pretend::die();
        }
        return std::nullopt;
      };
      const auto cache = ground.make_many(4);
      static_cast<void>(put(*cache, 0, "zero"));
      static_cast<void>(cache->preserve("kept", false));
      return cache->close().has_value();
    });
    was_killed = end.was_killed;
    EXPECT_TRUE(was_killed || end.said);
    ASSERT_TRUE(ground.make_many(1)->close());
    const auto names = ground.folder.names();
    if (!names.empty()) {
      EXPECT_THAT(names, ElementsAre("kept"));
      ground.folder.remove("kept");
    }
  }
  EXPECT_GT(n, 20U);
}

TEST(CacheSweep, leaves_the_caches_of_the_living_alone_E14_E3) {
  CacheGround ground;
  const auto first = ground.make_many(4);
  ASSERT_TRUE(put(*first, 0, "zero"));
  // Its own process attaches it, and makes others: no lock is dropped by that.
  ASSERT_TRUE(must(MultiprocessFileCache::attach(ground.os, first->handle()))->close());
  const auto second = ground.make_many(4);
  ASSERT_TRUE(ground.make_many(4)->close());
  ASSERT_THAT(ground.folder.names(), SizeIs(4));
  for (const ChildPid pid : child_pids) {
    die_after(ground, pid, [&] { static_cast<void>(ground.make_many(4)); });
    EXPECT_THAT(ground.folder.names(), SizeIs(4));
  }
  EXPECT_TRUE(MultiprocessFileCache::attach(ground.os, first->handle()).has_value());
  EXPECT_TRUE(MultiprocessFileCache::attach(ground.os, second->handle()).has_value());
}

TEST(CacheSweep, leaves_alone_what_is_no_live_cache_E14) {
  CacheGround ground;
  const std::string base = "12-0123456789abcdef0123456789abcdef";
  const auto keep = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      ground.folder.write(name, "precious");
    }
    ASSERT_TRUE(ground.make_many(1)->close());
    for (const std::string& name : names) {
      EXPECT_TRUE(ground.folder.exists(name)) << name;
      ground.folder.remove(name);
    }
  };
  // No lock beside it; names that are nearly those.
  keep({base + ".cache", base + ".part"});
  keep({"12-0123.lock", "12-0123.cache", "x" + base + ".lock", base + ".locks", base});
  keep({"12-0123456789abcdef0123456789abcdeX.lock", "-0123456789abcdef0123456789abcdef.lock"});
  // A lock, but beside it something that is no live cache: a preserved one, say.
  ground.folder.write(base + ".lock", "");
  ground.folder.write(base + ".cache", "precious");
  ASSERT_TRUE(ground.make_many(1)->close());
  EXPECT_THAT(ground.folder.names(), ElementsAre(base + ".cache"));
  ground.folder.remove(base + ".cache");
  // Of another user.
  ground.folder.write(base + ".lock", "");
  const auto user = ground.os.user;
  ground.os.user = user + 1;
  cache::sweep_dead(ground.os, ground.folder.path());
  EXPECT_THAT(ground.folder.names(), ElementsAre(base + ".lock"));
  ground.os.user = user;
  cache::sweep_dead(ground.os, ground.folder.path());
  EXPECT_THAT(ground.folder.names(), IsEmpty());
  // A symlink is not followed.
  ground.folder.write("target", "precious");
  ground.folder.link(base + ".lock", ground.folder.path("target"));
  cache::sweep_dead(ground.os, ground.folder.path());
  EXPECT_EQ(ground.folder.read("target"), "precious");
  ground.folder.remove(base + ".lock");
  ground.folder.remove("target");
}

TEST(CacheSweep, says_what_it_could_not_remove_unless_somebody_has_it_E14) {
  CacheGround ground;
  const std::string base = "12-0123456789abcdef0123456789abcdef";
  for (const std::errc error : {std::errc::io_error, std::errc::permission_denied}) {
    for (const Call call : {Call::status_at, Call::read_at, Call::unlink}) {
      ground.folder.write(base + ".lock", "");
      ground.folder.write(base + ".cache", "");
      ground.os.said.clear();
      ground.os.director = [&](const pretend::Crossing& crossed) {
        return crossed.call == call ? std::optional(error) : std::nullopt;
      };
      cache::sweep_dead(ground.os, ground.folder.path());
      ground.os.director = nullptr;
      const bool is_news = error == std::errc::io_error;
      EXPECT_EQ(ground.os.said.find("left to the next start") != std::string::npos, is_news)
          << name_of(call) << ' ' << ground.os.said;
      EXPECT_TRUE(ground.folder.exists(base + ".lock"));
      cache::sweep_dead(ground.os, ground.folder.path());
      EXPECT_THAT(ground.folder.names(), IsEmpty());
    }
  }
}

TEST(CacheSweep, takes_nothing_from_who_has_the_dead_process_s_cache_E14) {
  CacheGround ground;
  std::unique_ptr<MultiprocessFileCache> attached;
  const auto pipe = must(ground.os.make_pipe());
  const os::UniqueFd read(ground.os, pipe.read);
  const os::UniqueFd write(ground.os, pipe.write);
  die_after(ground, ChildPid::own, [&] {
    const auto cache = ground.make_many(4);
    static_cast<void>(put(*cache, 0, "zero"));
    static_cast<void>(os::write_all(ground.os, write.get(), os::bytes_of(cache->handle())));
    pretend::die();
  });
  std::string handle(4096, '\0');
  handle.resize(must(ground.os.read(read.get(), std::as_writable_bytes(std::span(handle)))));
  attached = must(MultiprocessFileCache::attach(ground.os, handle));
  ASSERT_TRUE(ground.make_many(1)->close());
  EXPECT_THAT(ground.folder.names(), IsEmpty());
  EXPECT_TRUE(put(*attached, 1, "one"));
  EXPECT_EQ(get(*attached, 0), "zero");
  EXPECT_EQ(get(*attached, 1), "one");
}

TEST(CacheSweep, between_the_making_of_a_lock_and_its_taking_costs_another_name_and_no_cache_E14) {
  CacheGround ground;
  std::size_t swept = 0;
  ground.os.after = [&](const pretend::Crossing& crossed) {
    if (crossed.call == Call::open && crossed.subject.ends_with(".lock") && swept < 3) {
      ++swept;
      // As a sweep of another process does, which finds it free.
      std::filesystem::remove(crossed.subject);
    }
  };
  const auto cache = ground.make_many(1);
  ground.os.after = nullptr;
  EXPECT_EQ(swept, 3U);
  EXPECT_THAT(ground.folder.names(), SizeIs(2));
  EXPECT_THAT(ground.counts.names(ResourceType::file), SizeIs(2));
}

TEST(ManyFile, stays_when_a_forked_child_ends_its_copy_even_with_its_parents_pid_E8) {
  CacheGround ground;
  auto cache = ground.make_many(1);
  ASSERT_TRUE(put(*cache, 0, "zero"));
  const pretend::ForkedEnd end = pretend::run_forked([&] {
    cache.reset();
    return true;
  });
  EXPECT_TRUE(end.said);
  EXPECT_THAT(ground.folder.names(), SizeIs(2));
  EXPECT_TRUE(MultiprocessFileCache::attach(ground.os, cache->handle()).has_value());
}

}  // namespace
}  // namespace lastref
