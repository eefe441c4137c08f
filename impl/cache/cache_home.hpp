// CacheHome: the part of a cache that works only in the process that made it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <lastref/slot_cache.hpp>

#include "impl/cache/owned_file.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::cache {

/// The checked numbers of a cache.
struct Numbers {
  std::uint64_t length = 0;
  std::uint64_t size_limit = 0;
};

/// Errors          invalid_argument; value_too_large: more than length_max slots.
Result<Numbers> check_numbers(std::int64_t length, const SlotCacheOptions& options);

/// A preserved cache that is open for reading.
struct Preserved {
  os::UniqueFd file;
  std::string path;
};

class CacheHome {
 public:
  CacheHome(os::Os& os, std::shared_ptr<References> references, SlotCacheOptions options)
      : os_(os),
        references_(std::move(references)),
        options_(std::move(options)),
        process_(os.process_id()),
        token_(os.process_token()) {}

  os::Os& os() const noexcept { return os_; }
  /// Whether this is the process that made the cache.
  bool is_here() const noexcept { return os_.process_token() == token_; }

  /// Errors          operation_not_permitted: this is not the process that made the cache.
  Status check_process(const char* word) const;

  /// Errors          result_out_of_range.
  static Status check_slot(std::uint64_t slot, std::uint64_t length);

  /// Reports, if the cache is verbose. `what` makes the text.
  template <typename What>
  void report(const What& what) const noexcept {
    if (options_.is_verbose) {
      os::report_quietly(os_, [&] { return "lastref cache: " + what(); });
    }
  }
  /// Warns only the first time.
  void warn_of_space(std::uint64_t slot, std::size_t size) noexcept;

  /// Implements preserve for a cache that is open, after check_process: `freeze` is called when
  /// nothing prevents the preserving.
  ///
  /// Errors          see SlotCache::preserve.
  Result<bool> preserve(const std::string& name,
                        bool overwrite,
                        const std::function<void()>& freeze,
                        const std::function<Status(os::Fd)>& write) const;

  /// The file of that name, after check_process; none if it does not exist.
  ///
  /// Errors          see SlotCache::preload.
  Result<std::optional<Preserved>> find_preserved(const std::string& name) const;

 private:
  /// The path in the folder of the options, which is made if need be.
  Result<std::string> path_of(const std::string& name) const;

  os::Os& os_;
  std::shared_ptr<References> references_;
  SlotCacheOptions options_;
  os::Pid process_;
  std::uint64_t token_;
  std::atomic<bool> has_warned_{false};
};

/// For the destructor of an object that other threads may be calling. A forked child does not have
/// those threads, and would wait indefinitely.
template <typename Condition>
void wait_until(const CacheHome& home, Condition is_so) noexcept {
  while (!is_so() && home.is_here()) {
    static_cast<void>(home.os().poll({}, std::chrono::milliseconds(1)));
  }
}

}  // namespace lastref::cache
