// CacheFixture: a folder, an Os and a count of names, for tests of caches.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/owners.hpp>
#include <lastref/slot_cache.hpp>

#include "property_tests/support/array_model.hpp"
#include "property_tests/support/counts.hpp"
#include "property_tests/support/directed_os.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref::pretend {

enum class CacheKind : std::uint8_t { many, file, memory };

inline constexpr CacheKind cache_kinds[] = {CacheKind::many, CacheKind::file, CacheKind::memory};

inline std::string name_of(CacheKind kind) {
  return kind == CacheKind::many ? "many" : kind == CacheKind::file ? "file" : "memory";
}

inline void PrintTo(CacheKind kind, std::ostream* out) {
  *out << name_of(kind);
}

/// The contents of a slot, as text; nothing if it is empty.
inline std::optional<std::string> text_of(const std::optional<std::vector<std::byte>>& value) {
  if (!value) {
    return std::nullopt;
  }
  std::string text;
  for (const std::byte each : *value) {
    text += static_cast<char>(each);
  }
  return text;
}

inline std::optional<std::string> text_of(const std::optional<CachedBytes>& value) {
  return value ? text_of(std::optional(
                     std::vector<std::byte>(value->bytes.begin(), value->bytes.end())))
               : std::nullopt;
}

inline bool put(SlotCache& cache, std::uint64_t slot, const std::string& text) {
  return must(cache.put(slot, os::bytes_of(text)));
}

inline std::optional<std::string> get(SlotCache& cache, std::uint64_t slot) {
  return text_of(must(cache.get(slot)));
}

/// The value of a slot, read in every way; the results must be the same.
inline std::optional<std::string> get_all_ways(SlotCache& cache, std::uint64_t slot) {
  const auto copied = get(cache, slot);
  EXPECT_EQ(text_of(must(cache.view(slot))), copied);
  EXPECT_EQ(text_of(must(cache.get_checked(slot))), copied);
  return copied;
}

template <typename T>
std::errc code_of(const Result<T>& result) {
  return result ? std::errc{} : result.error().code;
}

struct CacheFixture {
  CacheFixture() {
    counts.real = [this](const std::string& path) { return os.real(path); };
  }

  SlotCacheOptions options() const { return {.folder = folder.path()}; }

  Result<std::unique_ptr<SlotCache>> try_make(CacheKind kind,
                                              std::int64_t length,
                                              SlotCacheOptions options) {
    if (kind == CacheKind::file) {
      return make_file_cache(os, party, length, std::move(options));
    }
    if (kind == CacheKind::memory) {
      return make_naive_cache(os, party, length, std::move(options));
    }
    LASTREF_TRY(made, MultiprocessFileCache::make(os, party, length, std::move(options)));
    return std::unique_ptr<SlotCache>(std::move(made));
  }

  std::unique_ptr<SlotCache> make(CacheKind kind, std::int64_t length) {
    return must(try_make(kind, length, options()));
  }

  std::unique_ptr<MultiprocessFileCache> make_many(std::int64_t length) {
    return must(MultiprocessFileCache::make(os, party, length, options()));
  }

  FreshFolder folder;
  DirectedOs os;
  Counts counts;
  std::shared_ptr<References> party = counts.party("parent");
};

}  // namespace lastref::pretend
