// caches: what scenarios of caches have in common: a cache whose every put and get is a word of the
// Stage, so that the oracles see the history.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lastref/cache.hpp>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

/// A cache of the process of a Stage.
class StageCache {
 public:
  /// `name` is the same in all processes that share the cache.
  StageCache(Stage& stage, std::string name) : stage_(stage), name_(std::move(name)) {}

  Status make(std::int64_t length, CacheOptions options = {});
  Status make_file_cache(std::int64_t length, CacheOptions options = {});
  /// `is_loaded` says that the other one has loaded what it has.
  Status attach(const std::string& handle, bool is_loaded = false);
  /// False if there is none.
  explicit operator bool() const noexcept { return cache_ != nullptr; }
  std::string handle() const { return many_ == nullptr ? "" : many_->handle(); }

  /// What put said; none if it was an error.
  std::optional<bool> put(std::uint64_t slot, const std::string& value);
  /// The value; none if there is none, or it was an error.
  std::optional<std::string> get(std::uint64_t slot);
  std::optional<std::string> get_checked(std::uint64_t slot);
  /// The same, not noted, with its error.
  Result<std::optional<std::vector<std::byte>>> checked(std::uint64_t slot) {
    return cache_->get_checked(slot);
  }
  /// What preserve and preload said; none if it was an error.
  std::optional<bool> preserve(const std::string& name, bool overwrite);
  std::optional<bool> preload(const std::string& name);
  Status close();

 private:
  using Copied = std::optional<std::vector<std::byte>>;

  std::optional<std::string> noted_get(std::uint64_t slot,
                                       const std::function<Result<Copied>()>& act);

  Stage& stage_;
  std::string name_;
  bool is_loaded_ = false;  // What it has, another cache was told: that is no history of this one.
  std::unique_ptr<Cache> cache_;
  MultiprocessFileCache* many_ = nullptr;  // the same, if it is one
};

/// In the folder of the run.
CacheOptions cache_options(const Stage& stage);

/// The value that `writer` puts into a slot: of any length, and unlike all others.
std::string value_of(std::uint64_t slot, const std::string& writer, std::size_t size = 40);

/// Refutes, where nothing has struck, that it is so.
void must_be(Stage& stage, const std::string& claim, bool holds, const std::string& seen);

/// The same, that a slot has this value.
void must_have(Stage& stage,
               StageCache& cache,
               std::uint64_t slot,
               const std::optional<std::string>& value);

/// The handle that was sent with the word, attached; false if it cannot be.
bool attach_sent(Stage& stage, StageCache& cache, const std::string& word = "cache");
bool attach_loaded(Stage& stage, StageCache& cache, const std::string& word);

}  // namespace lastref::harness
