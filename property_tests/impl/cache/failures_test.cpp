// failures_test: the life of a cache, in which each call fails once, and each call to the tracker.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/cache/cache_fixture.hpp"

namespace lastref {
namespace {

using pretend::CacheFixture;
using pretend::CacheKind;
using pretend::must;
using pretend::text_of;

constexpr std::int64_t slots = 4;

/// Records the results that a caller got, and checks whether they can be true.
class Life {
 public:
  /// `code` is the only code that may be reported.
  Life(CacheFixture& fixture, CacheKind kind, SlotCacheOptions options, std::errc code)
      : fixture_(fixture), kind_(kind), options_(std::move(options)), code_(code) {}

  void live() {
    auto made = fixture_.try_make(kind_, slots, options_);
    if (!made) {
      expect_known(made.error());
      return;
    }
    const std::unique_ptr<SlotCache> cache = *std::move(made);
    // The first two values take one call each, the last takes two.
    for (const std::size_t size : {0U, 10U, 20'000U}) {
      put(*cache, std::string(size, static_cast<char>('a' + size % 26)));
    }
    look(*cache);
    look_as_another(*cache);
    take(cache->preserve("kept", false));
    look(*cache);
    take(cache->close());
    load();
  }

 private:
  void put(SlotCache& cache, const std::string& value) {
    const auto slot = next_++;
    if (const auto put = cache.put(slot, os::bytes_of(value))) {
      EXPECT_TRUE(*put);
      told_[slot] = value;
    } else {
      expect_known(put.error());
      if (options_.is_durable) {
        unsure_[slot] = value;
      }
    }
  }

  void look(SlotCache& cache) {
    for (std::uint64_t slot = 0; slot < slots; ++slot) {
      expect_true(slot, cache.get(slot));
      expect_true(slot, cache.view(slot));
      expect_true(slot, cache.get_checked(slot));
    }
  }

  void look_as_another(SlotCache& cache) {
    auto* const shared = dynamic_cast<MultiprocessFileCache*>(&cache);
    if (shared == nullptr) {
      return;
    }
    const auto attached = MultiprocessFileCache::attach(fixture_.os, shared->handle());
    if (attached) {
      look(**attached);
    } else {
      expect_known(attached.error());
    }
  }

  void load() {
    const auto other = fixture_.try_make(kind_, slots, options_);
    if (!other) {
      expect_known(other.error());
      return;
    }
    const auto loaded = (*other)->preload("kept");
    take(loaded);
    if (loaded && *loaded) {
      look(**other);
      look_as_another(**other);
    }
  }

  template <typename Found>
  void expect_true(std::uint64_t slot, const Result<Found>& found) {
    if (!found) {
      expect_known(found.error());
      return;
    }
    const auto value = text_of(*found);
    // In a durable cache a value may be stored although its writer got an error.
    if (const auto unsure = unsure_.find(slot); unsure != unsure_.end() && value) {
      EXPECT_EQ(value, unsure->second);
      return;
    }
    const auto told = told_.find(slot);
    EXPECT_EQ(value, told == told_.end() ? std::nullopt : std::optional(told->second));
  }

  template <typename T>
  void take(const Result<T>& result) {
    if (!result) {
      expect_known(result.error());
    }
  }

  void expect_known(const Error& error) const { EXPECT_EQ(error.code, code_) << describe(error); }

  CacheFixture& fixture_;
  CacheKind kind_;
  SlotCacheOptions options_;
  std::errc code_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, std::string> told_;
  std::map<std::uint64_t, std::string> unsure_;
};

class CacheFailures : public testing::TestWithParam<CacheKind> {};

INSTANTIATE_TEST_SUITE_P(On,
                         CacheFailures,
                         testing::ValuesIn(pretend::cache_kinds),
                         [](const auto& each) { return pretend::name_of(each.param); });

/// Fails the call number `at`, and reports whether there was one.
pretend::DirectedOs::Director fail_if_reached(std::size_t at, bool& reached) {
  reached = false;
  return [&reached,
          fail = pretend::fail_kth(at, std::errc::io_error)](const pretend::Crossing& crossed) {
    const auto code = fail(crossed);
    reached = reached || code;
    return code;
  };
}

/// Runs the life with one failure after the other, until no call is left to fail.
void live_with_each(CacheKind kind,
                    const SlotCacheOptions& options,
                    std::errc code,
                    const std::function<void(CacheFixture&, std::size_t)>& fail_at,
                    const std::function<bool(CacheFixture&)>& was_reached) {
  std::size_t at = 0;
  for (bool is_over = false; !is_over; ++at) {
    SCOPED_TRACE(at);
    CacheFixture fixture;
    SlotCacheOptions here = options;
    here.folder = fixture.folder.path("deep/er");
    fail_at(fixture, at);
    Life(fixture, kind, here, code).live();
    is_over = !was_reached(fixture);
    fixture.os.director = nullptr;
    fixture.counts.fails.reset();
    fixture.folder.remove("deep/er/kept");
    for (const char* made : {"deep/er", "deep"}) {
      // Nothing else is in it.
      static_cast<void>(fixture.os.remove_folder(fixture.folder.path(made)));
    }
    EXPECT_THAT(fixture.folder.names(), testing::IsEmpty());
    if (testing::Test::HasFailure()) {
      return;
    }
  }
  EXPECT_GT(at, 2U) << "hardly anything was asked for";
}

TEST_P(CacheFailures, of_each_call_once_are_told_and_nothing_is_wrong_or_left_C4_C6_C7_C9) {
  for (const bool is_durable : {false, true}) {
    bool reached = false;
    live_with_each(
        GetParam(),
        {.is_durable = is_durable},
        std::errc::io_error,
        [&](CacheFixture& fixture, std::size_t at) {
          fixture.os.director = fail_if_reached(at, reached);
        },
        [&](CacheFixture& fixture) {
          EXPECT_TRUE(fixture.counts.empty());
          return reached;
        });
  }
}

TEST_P(CacheFailures, of_each_call_that_preserves_large_values_leave_no_file_C7) {
  const std::string large(300'000, 'l');  // Written alone, after the earlier bytes.
  bool reached = true;
  for (std::size_t at = 0; reached; ++at) {
    SCOPED_TRACE(at);
    CacheFixture fixture;
    const auto cache = fixture.make(GetParam(), slots);
    ASSERT_TRUE(must(cache->put(0, os::bytes_of("small"))));
    ASSERT_TRUE(must(cache->put(1, os::bytes_of(large))));
    fixture.os.director = fail_if_reached(at, reached);
    const auto preserved = cache->preserve("kept", false);
    fixture.os.director = nullptr;
    EXPECT_TRUE(preserved || (reached && preserved.error().code == std::errc::io_error));
    EXPECT_EQ(fixture.folder.exists("kept"), preserved.has_value());
    EXPECT_TRUE(cache->close());
    fixture.folder.remove("kept");
  }
}

TEST_P(CacheFailures, of_each_word_to_the_tracker_leave_no_file_C6) {
  live_with_each(
      GetParam(),
      {},
      std::errc::connection_refused,
      [](CacheFixture& fixture, std::size_t at) { fixture.counts.fails = at; },
      [](CacheFixture& fixture) { return !fixture.counts.fails; });
}

}  // namespace
}  // namespace lastref
