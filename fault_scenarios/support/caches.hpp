// caches: shared parts of scenarios about caches: a cache with every put and get as an operation of
// the Product, so that the oracles see the history.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lastref/slot_cache.hpp>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

inline constexpr Parameter<bool> durable = {.name = "durable", .usual = false};

/// A Result that may be dropped, because the cache keeps the first failure.
template <typename T>
using Kept = tl::expected<T, Error>;

/// A cache of the process of a Stage.
class StageCache {
 public:
  /// `name` is the same in all processes that share the cache.
  StageCache(Stage& stage, std::string name) : stage_(stage), name_(std::move(name)) {}

  [[nodiscard]] Status make(std::int64_t length, SlotCacheOptions options = {});
  [[nodiscard]] Status make_file_cache(std::int64_t length, SlotCacheOptions options = {});
  /// In memory.
  [[nodiscard]] Status make_naive_cache(std::int64_t length, SlotCacheOptions options = {});
  /// `is_loaded` means that the other one has loaded its content.
  [[nodiscard]] Status attach(const std::string& handle, bool is_loaded = false);
  /// Other threads load its content: values that it has are not judged by its history.
  void expect_load() noexcept { is_loaded_ = true; }
  /// Other threads close it: neither are values that it takes.
  void expect_close() noexcept { is_loaded_ = is_closed_ = true; }
  std::string handle() const { return many_ == nullptr ? "" : many_->handle(); }

  // Failures of the following are also in first_failed().

  Kept<bool> put(std::uint64_t slot, const std::string& value);
  /// The value; empty if there is none.
  Kept<std::optional<std::string>> get(std::uint64_t slot);
  Kept<std::optional<std::string>> get_checked(std::uint64_t slot);
  /// Recorded as get.
  Kept<std::optional<CachedBytes>> view(std::uint64_t slot);
  /// Whether a slot has a value.
  bool has(std::uint64_t slot) { return get(slot).value_or(std::nullopt).has_value(); }
  /// The same, not recorded, with its error.
  Result<std::optional<std::vector<std::byte>>> checked(std::uint64_t slot) {
    return cache_->get_checked(slot);
  }
  /// The result of a put in a forked child, to which the cache may not belong: not recorded.
  Result<bool> put_as_a_copy(std::uint64_t slot, const std::string& value);
  bool is_multithread_safe() const noexcept { return cache_->is_multithread_safe(); }
  Kept<bool> preserve(const std::string& name, bool overwrite);
  Kept<bool> preload(const std::string& name);
  Kept<void> close();
  /// The first failure since it was made or attached: the result of a role that continues after
  /// failures.
  const Status& first_failed() const noexcept { return first_failed_; }

 private:
  using MakeOfOne = decltype(lastref::make_file_cache);

  Status make_of_one(std::string_view operation,
                     MakeOfOne* maker,
                     std::int64_t length,
                     SlotCacheOptions options);
  /// `Bytes` has the value, or is one.
  template <typename Bytes>
  Result<std::optional<Bytes>> noted_get(std::uint64_t slot,
                                         const std::function<Result<std::optional<Bytes>>()>& act);
  /// Returns the same Result, and keeps it if it is the first failure.
  template <typename T>
  Result<T> kept(Result<T> result) {
    const std::lock_guard held(guard_);
    if (!result && first_failed_) {
      try {
        first_failed_ = status_of(result);
      } catch (const std::bad_alloc&) {
        first_failed_ = failure(std::errc::not_enough_memory, "");
      }
    }
    return result;
  }
  /// An operation with the answer true or false.
  Result<bool> noted(std::string_view operation,
                     const std::string& asked,
                     const std::function<Result<bool>()>& act);

  Stage& stage_;
  std::string name_;
  bool is_closed_ = false;
  bool is_loaded_ = false;  // Its content was reported by another cache: that is no history of this
                            // one.
  std::mutex guard_;
  Status first_failed_;
  std::unique_ptr<SlotCache> cache_;
  MultiprocessFileCache* many_ = nullptr;  // the same, if it is one
};

/// In the folder of the run.
SlotCacheOptions cache_options(const Stage& stage);

/// The same, durable if the run says so.
SlotCacheOptions drawn_cache_options(const Stage& stage);

/// Bytes of a cache file with a value of `size` in each of its slots.
std::int64_t space_for(std::uint64_t slots, std::uint64_t size);

/// The value that `writer` puts into a slot: of any length, and different from all others.
std::string value_of(std::uint64_t slot, const std::string& writer, std::size_t size = 40);

/// Checks, in an undisturbed run, that `holds` is true.
void must_be(Stage& stage, const std::string& claim, bool holds, const std::string& seen);

/// The same for the claim that a slot has this value.
void must_have(Stage& stage,
               StageCache& cache,
               std::uint64_t slot,
               const std::optional<std::string>& value);

/// Attaches the handle that comes with the signal.
///
/// Errors          no_message_available: no process is left that could send it. Those of attach.
[[nodiscard]] Status attach_sent(Stage& stage,
                                 StageCache& cache,
                                 const std::string& signal = "cache");
/// Joins the tree first.
[[nodiscard]] Status join_and_attach(Stage& stage, StageCache& cache);
[[nodiscard]] Status attach_loaded(Stage& stage, StageCache& cache, const std::string& signal);

}  // namespace lastref::harness
