// allocation_test: whichever allocation fails in a cache, the process survives it, the caller gets
// an error, nothing is left, and the next cache works.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "property_tests/impl/cache/cache_fixture.hpp"
#include "property_tests/support/failing_memory.hpp"

namespace lastref {
namespace {

using pretend::Armed;
using pretend::CacheKind;
using pretend::SparedOs;
using pretend::SparedReferences;
using pretend::unless_no_memory;

constexpr std::int64_t length = 3;

/// The names and values for all calls, made beforehand.
struct Life {
  explicit Life(CacheKind its_kind) : kind(its_kind), options{.folder = folder.path("the/caches")} {
    options.is_thread_safe = true;
    options.size_limit = kind == CacheKind::many ? 1'000'000 : 0;
  }

  Result<std::unique_ptr<SlotCache>> make(SlotCacheOptions its_options) {
    if (kind == CacheKind::file) {
      return make_file_cache(os, references, length, its_options);
    }
    if (kind == CacheKind::memory) {
      return make_naive_cache(os, references, length, its_options);
    }
    LASTREF_TRY(made, MultiprocessFileCache::make(os, references, length, std::move(its_options)));
    return std::unique_ptr<SlotCache>(std::move(made));
  }

  /// Puts, and gets in every way.
  Status use(SlotCache& cache) {
    LASTREF_TRY(is_put, cache.put(1, os::bytes_of(value)));
    LASTREF_TRY(copy, cache.get(1));
    LASTREF_TRY(view, cache.view(1));
    LASTREF_TRY(checked, cache.get_checked(1));
    return is_put && copy && view && checked ? ok() : failure(std::errc::io_error, "");
  }

  /// Attaches the cache as another process would, if it can be attached.
  Status attach(SlotCache& cache) {
    auto* const many = dynamic_cast<MultiprocessFileCache*>(&cache);
    if (many == nullptr) {
      return ok();
    }
    const std::string handle = many->handle();
    if (handle.empty()) {
      return failure(std::errc::not_enough_memory, "");
    }
    LASTREF_TRY(attached, MultiprocessFileCache::attach(os, handle));
    LASTREF_TRY(found, attached->get(1));
    return found ? ok() : failure(std::errc::io_error, "");
  }

  Status live(SlotCacheOptions first_options, SlotCacheOptions second_options) {
    LASTREF_TRY(first, make(std::move(first_options)));
    LASTREF_CHECK(use(*first));
    LASTREF_CHECK(attach(*first));
    LASTREF_TRY(is_preserved, first->preserve(name, /*overwrite=*/true));
    LASTREF_CHECK(first->close());
    LASTREF_TRY(second, make(std::move(second_options)));
    LASTREF_TRY(is_loaded, second->preload(name));
    LASTREF_CHECK(attach(*second));
    LASTREF_TRY(found, second->get(1));
    return is_preserved && is_loaded && found ? ok() : failure(std::errc::io_error, "");
  }

  CacheKind kind;
  pretend::FreshFolder folder;
  SparedOs os;
  pretend::Counts counts;
  std::shared_ptr<References> references =
      std::make_shared<SparedReferences>(counts.party("parent"));
  SlotCacheOptions options;
  std::string value = std::string(10'000, 'x');
  std::string name = "a name that is no short string";
};

class FailingMemory : public testing::TestWithParam<CacheKind> {};

TEST_P(FailingMemory, fails_no_cache_but_the_one_that_it_was_for_E10) {
  pretend::fail_each_allocation([kind = GetParam()](const Armed& armed) {
    Life life(kind);
    SlotCacheOptions first = life.options;
    SlotCacheOptions second = life.options;
    Status status = ok();
    armed([&] { status = life.live(std::move(first), std::move(second)); });
    std::string finding = unless_no_memory(status);
    const Status again = life.live(life.options, life.options);
    finding += again ? "" : " afterwards: " + describe(again.error());
    for (const std::string& name : life.folder.names()) {
      const bool is_to_stay = std::string("the/caches/" + life.name).starts_with(name);
      finding += is_to_stay ? "" : " " + name + " is left;";
    }
    life.folder.remove("the");
    for (const std::string& misuse : life.counts.misuse) {
      finding += " " + misuse + ";";
    }
    return finding + (life.counts.empty() ? "" : " names are still counted;");
  });
}

TEST_P(FailingMemory, leaves_a_cache_as_it_was_E10) {
  pretend::fail_each_allocation([kind = GetParam()](const Armed& armed) {
    Life life(kind);
    const std::unique_ptr<SlotCache> cache = pretend::must(life.make(life.options));
    Status status = ok();
    armed([&] { status = life.use(*cache); });
    std::string finding = unless_no_memory(status);
    const auto is_put = cache->put(2, os::bytes_of(life.value));
    const auto found = cache->get(2);
    finding += is_put && *is_put && found && *found ? "" : " it does not work afterwards;";
    armed([&] { status = status_of(cache->preserve(life.name, /*overwrite=*/false)); });
    finding += unless_no_memory(status);
    finding += status_of(cache->preserve(life.name, /*overwrite=*/true))
                   ? ""
                   : " it is not preserved afterwards;";
    armed([&] { status = cache->close(); });
    finding += unless_no_memory(status);
    life.folder.remove("the");
    return finding + (life.counts.empty() ? "" : " names are still counted;");
  });
}

INSTANTIATE_TEST_SUITE_P(Of,
                         FailingMemory,
                         testing::ValuesIn(pretend::cache_kinds),
                         [](const auto& each) { return pretend::name_of(each.param); });

}  // namespace
}  // namespace lastref
