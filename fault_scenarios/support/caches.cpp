#include "fault_scenarios/support/caches.hpp"

#include <algorithm>
#include <utility>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/platform/hash.hpp"

namespace lastref::harness {
namespace {

std::string identity_of(const std::string& value) {
  return std::to_string(hash_of(value));
}

using Copied = std::vector<std::byte>;

std::string text_of(const Copied& value) {
  return text_of_bytes(value);
}
std::string text_of(const CachedBytes& value) {
  return text_of_bytes(value.bytes);
}

Result<std::optional<std::string>> as_text(Result<std::optional<Copied>> seen) {
  return std::move(seen).map([](const std::optional<Copied>& value) {
    return value ? std::optional(text_of(*value)) : std::nullopt;
  });
}

std::string answer(bool said) {
  return said ? "true" : "false";
}

}  // namespace

SlotCacheOptions cache_options(const Stage& stage) {
  return {.folder = stage.folder()};
}

Status StageCache::make(std::int64_t length, SlotCacheOptions options) {
  if (!options.folder) {
    options.folder = stage_.folder();
  }
  const auto act = [&]() -> Result<std::string> {
    LASTREF_TRY(made,
                MultiprocessFileCache::make(stage_.os(), references_of(stage_), length, options));
    many_ = made.get();
    cache_ = std::move(made);
    return std::string();
  };
  // Information for synced_first.
  return stage_.product().operation_with_answer(
      "make a cache", options.is_durable ? "durable " + name_ : "", act);
}

Status StageCache::make_of_one(std::string_view operation,
                               MakeOfOne* maker,
                               std::int64_t length,
                               SlotCacheOptions options) {
  if (!options.folder) {
    options.folder = stage_.folder();
  }
  return stage_.product().operation(operation, [&]() -> Status {
    LASTREF_TRY(made, maker(stage_.os(), references_of(stage_), length, options));
    cache_ = std::move(made);
    return ok();
  });
}

Status StageCache::make_file_cache(std::int64_t length, SlotCacheOptions options) {
  return make_of_one("make a cache", &lastref::make_file_cache, length, std::move(options));
}

Status StageCache::make_naive_cache(std::int64_t length, SlotCacheOptions options) {
  return make_of_one(
      "make a cache in memory", &lastref::make_naive_cache, length, std::move(options));
}

Status StageCache::attach(const std::string& handle, bool is_loaded) {
  is_loaded_ = is_loaded_ || is_loaded;
  return stage_.product().operation("attach a cache", [&]() -> Status {
    LASTREF_TRY(attached, MultiprocessFileCache::attach(stage_.os(), handle));
    many_ = attached.get();
    cache_ = std::move(attached);
    return ok();
  });
}

Result<bool> StageCache::noted(std::string_view operation,
                               const std::string& asked,
                               const std::function<Result<bool>()>& act) {
  Result<bool> said = false;
  // Its Status is that of `said`.
  may_fail(stage_.product().operation_with_answer(operation, asked, [&]() -> Result<std::string> {
    said = act();
    return said.map(answer);
  }));
  return kept(std::move(said));
}

Kept<bool> StageCache::put(std::uint64_t slot, const std::string& value) {
  const std::string asked = name_ + ' ' + std::to_string(slot) + ' ' + identity_of(value);
  return noted(is_closed_ ? "put a lost value" : "put", asked, [&] {
    return cache_->put(slot, os::bytes_of(value));
  });
}

Result<bool> StageCache::put_as_a_copy(std::uint64_t slot, const std::string& value) {
  return cache_->put(slot, os::bytes_of(value));
}

template <typename Bytes>
Result<std::optional<Bytes>> StageCache::noted_get(
    std::uint64_t slot, const std::function<Result<std::optional<Bytes>>()>& act) {
  std::optional<Bytes> seen;
  const std::string asked = name_ + ' ' + std::to_string(slot);
  const char* const operation = is_loaded_ ? "get a loaded value" : "get";
  Status done =
      stage_.product().operation_with_answer(operation, asked, [&]() -> Result<std::string> {
        LASTREF_TRY(found, act());
        if (!found) {
          return std::string("none");
        }
        seen = std::move(found);
        return identity_of(text_of(*seen));
      });
  return kept(done ? Result<std::optional<Bytes>>(std::move(seen))
                   : failure(std::move(done).error()));
}

Kept<std::optional<std::string>> StageCache::get(std::uint64_t slot) {
  return as_text(noted_get<Copied>(slot, [&] { return cache_->get(slot); }));
}

Kept<std::optional<std::string>> StageCache::get_checked(std::uint64_t slot) {
  return as_text(noted_get<Copied>(slot, [&] { return cache_->get_checked(slot); }));
}

Kept<std::optional<CachedBytes>> StageCache::view(std::uint64_t slot) {
  return noted_get<CachedBytes>(slot, [&] { return cache_->view(slot); });
}

Kept<bool> StageCache::preserve(const std::string& name, bool overwrite) {
  return noted("freeze", name_, [&] { return cache_->preserve(name, overwrite); });
}

Kept<bool> StageCache::preload(const std::string& name) {
  // It makes nothing durable: see synced_first.
  Result<bool> loaded = noted("freeze", name_ + " load", [&] { return cache_->preload(name); });
  if (!is_loaded_ && loaded.value_or(false)) {
    is_loaded_ = true;  // Threads that load through one object have set it before.
  }
  return loaded;
}

Kept<void> StageCache::close() {
  return kept(stage_.product().operation("close", [&] { return cache_->close(); }));
}

SlotCacheOptions drawn_cache_options(const Stage& stage) {
  SlotCacheOptions options = cache_options(stage);
  options.is_durable = stage.value(durable);
  return options;
}

/// A head, a word for each slot, and each value with a head, in units.
std::int64_t space_for(std::uint64_t slots, std::uint64_t size) {
  constexpr std::uint64_t unit = 16;
  const auto whole = [](std::uint64_t bytes) { return (bytes + unit - 1) / unit * unit; };
  constexpr std::uint64_t head = 256;
  return static_cast<std::int64_t>(whole(head + slots * sizeof(std::uint64_t)) +
                                   slots * whole(unit + size));
}

std::string value_of(std::uint64_t slot, const std::string& writer, std::size_t size) {
  std::string value = std::to_string(slot) + " by " + writer + ' ';
  value.resize(std::max(value.size(), size), '.');
  return value;
}

void must_be(Stage& stage, const std::string& claim, bool holds, const std::string& seen) {
  if (!holds && stage.is_undisturbed()) {
    stage.refute(claim, seen);
  }
}

void must_have(Stage& stage,
               StageCache& cache,
               std::uint64_t slot,
               const std::optional<std::string>& value) {
  const auto seen = cache.get(slot).value_or(std::nullopt);
  must_be(stage,
          "C2: a slot has the value that was put",
          seen == value,
          "slot " + std::to_string(slot) + " has " + seen.value_or("nothing"));
}

Status attach_sent(Stage& stage, StageCache& cache, const std::string& signal) {
  LASTREF_TRY(handle, stage.receive(signal));
  return cache.attach(handle);
}

Status join_and_attach(Stage& stage, StageCache& cache) {
  LASTREF_CHECK(stage.product().join());
  return attach_sent(stage, cache);
}

Status attach_loaded(Stage& stage, StageCache& cache, const std::string& signal) {
  LASTREF_TRY(handle, stage.receive(signal));
  return cache.attach(handle, /*is_loaded=*/true);
}

}  // namespace lastref::harness
