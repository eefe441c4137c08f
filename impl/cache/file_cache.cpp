// The caches of one process: a file without a name, and memory.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lastref/slot_cache.hpp>

#include "impl/cache/cache_home.hpp"
#include "impl/cache/copy.hpp"
#include "impl/cache/snapshot.hpp"
#include "impl/cache/space.hpp"
#include "impl/cache/sweep.hpp"
#include "impl/os/atomic.hpp"
#include "impl/os/with_path.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

using Copied = std::optional<std::vector<std::byte>>;
using Viewed = std::optional<CachedBytes>;

/// The values of a cache of one process.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  virtual bool has(std::uint64_t slot) const noexcept = 0;
  /// bytes; including the head, as the limit counts.
  virtual std::uint64_t end() const noexcept = 0;
  virtual Status put(std::uint64_t slot, os::Bytes value) = 0;
  /// Only for a slot that has a value, as the next.
  virtual Result<std::vector<std::byte>> read(std::uint64_t slot) const = 0;
  virtual Result<CachedBytes> view(std::uint64_t slot) const = 0;
};

class MemoryStore final : public Store {
 public:
  using Slots = std::vector<std::shared_ptr<const std::vector<std::byte>>>;

  explicit MemoryStore(Slots slots) : values_(std::move(slots)) {}

  bool has(std::uint64_t slot) const noexcept override { return values_[slot] != nullptr; }
  std::uint64_t end() const noexcept override { return end_; }

  Status put(std::uint64_t slot, os::Bytes value) override {
    LASTREF_TRY(copy, cache::copy_of(value));
    values_[slot] = std::make_shared<const std::vector<std::byte>>(std::move(copy));
    end_ += value.size();
    return ok();
  }

  Result<std::vector<std::byte>> read(std::uint64_t slot) const override {
    return cache::copy_of(*values_[slot]);
  }

  Result<CachedBytes> view(std::uint64_t slot) const override {
    return CachedBytes{.bytes = *values_[slot], .keeper = values_[slot]};
  }

 private:
  Slots values_;
  std::uint64_t end_ = 0;
};

class FileStore final : public Store {
 public:
  struct Entry {
    std::uint64_t offset = 0;
    std::size_t size = 0;
    bool is_there = false;
  };

  FileStore(os::Os& os, os::UniqueFd file, std::vector<Entry> slots)
      : os_(os), file_(std::move(file)), entries_(std::move(slots)) {}

  bool has(std::uint64_t slot) const noexcept override { return entries_[slot].is_there; }
  std::uint64_t end() const noexcept override { return end_; }

  Status put(std::uint64_t slot, os::Bytes value) override {
    if (Status written = os::write_all_at(os_, file_.get(), value, end_); !written) {
      static_cast<void>(
          os::retry_interrupted([&] { return os_.punch_hole(file_.get(), end_, value.size()); }));
      return written;
    }
    entries_[slot] = {.offset = end_, .size = value.size(), .is_there = true};
    end_ += value.size();
    return ok();
  }

  Result<std::vector<std::byte>> read(std::uint64_t slot) const override {
    const Entry& entry = entries_[slot];
    LASTREF_TRY(bytes, cache::new_vector<std::byte>(entry.size));
    LASTREF_TRY(count, os::read_until_full_at(os_, file_.get(), bytes, entry.offset));
    if (count != bytes.size()) {
      return failure(std::errc::bad_message, "slot " + std::to_string(slot) + " is cut short");
    }
    return bytes;
  }

  Result<CachedBytes> view(std::uint64_t slot) const override {
    LASTREF_TRY(bytes, read(slot));
    const auto keeper = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    return CachedBytes{.bytes = *keeper, .keeper = keeper};
  }

 private:
  os::Os& os_;
  os::UniqueFd file_;
  std::vector<Entry> entries_;
  std::uint64_t end_ = 0;
};

class CacheOfOne final : public SlotCache {
 public:
  CacheOfOne(os::Os& os,
             std::shared_ptr<References> references,
             const SlotCacheOptions& options,
             const cache::Numbers& numbers,
             std::unique_ptr<Store> store,
             bool is_bound)
      : home_(os, std::move(references), options),
        numbers_(numbers),
        monitor_(options.is_thread_safe ? os.make_monitor() : nullptr),
        store_(std::move(store)),
        is_bound_(is_bound || monitor_),
        inside_(os, 0) {}
  CacheOfOne(const CacheOfOne&) = delete;
  CacheOfOne& operator=(const CacheOfOne&) = delete;
  /// Calls of other threads that are running continue; the destructor waits for them.
  ~CacheOfOne() override {
    cache::wait_until(home_, [this] { return inside_.load(std::memory_order_acquire) == 0; });
    if (!home_.is_here()) {
      // A thread that does not exist here may hold the monitor, and a held one cannot be destroyed.
      static_cast<void>(monitor_.release());
    }
  }

  Result<bool> put(std::uint64_t slot, os::Bytes value) override {
    return os::within_memory("a value", [&]() -> Result<bool> {
      LASTREF_CHECK(check_process("put"));
      const CallGuard held(*this);
      if (is_frozen_ || !store_) {
        return false;
      }
      LASTREF_CHECK(cache::CacheHome::check_slot(slot, numbers_.length));
      if (store_->has(slot)) {
        return false;
      }
      if (numbers_.size_limit > 0 && store_->end() + value.size() > numbers_.size_limit) {
        is_frozen_ = true;
        return false;
      }
      const Status stored = store_->put(slot, value);
      if (!stored && cache::is_out_of_space(stored.error())) {
        home_.warn_of_space(slot, value.size());
        return false;
      }
      LASTREF_CHECK(stored);
      return true;
    });
  }

  Result<Copied> get(std::uint64_t slot) override {
    return os::within_memory("a value", [&]() -> Result<Copied> {
      return look_up<Copied>(
          slot,
          [&]() -> Result<Copied> {
            LASTREF_TRY(found, loaded_->find(slot));
            if (!found) {
              return Copied();
            }
            return cache::copy_of(*found);
          },
          [&]() -> Result<Copied> { return store_->read(slot); });
    });
  }

  Result<Viewed> view(std::uint64_t slot) override {
    return os::within_memory("a value", [&]() -> Result<Viewed> {
      return look_up<Viewed>(
          slot,
          [&] { return loaded_->view(slot); },
          [&]() -> Result<Viewed> { return store_->view(slot); });
    });
  }

  Result<Copied> get_checked(std::uint64_t slot) override {
    return os::within_memory("a value", [&]() -> Result<Copied> {
      return look_up<Copied>(
          slot,
          [&] { return loaded_->read(slot); },
          [&]() -> Result<Copied> { return store_->read(slot); });
    });
  }

  Result<bool> preserve(const std::string& name, bool overwrite) override {
    return os::within_memory("a cache", [&]() -> Result<bool> {
      LASTREF_CHECK(home_.check_process("preserve"));
      const CallGuard held(*this);
      if (is_closed()) {
        return false;
      }
      CachedBytes last;
      const auto value_of = [&](std::uint64_t slot) -> Result<std::optional<os::Bytes>> {
        if (loaded_) {
          return loaded_->find(slot);
        }
        if (!store_->has(slot)) {
          return std::optional<os::Bytes>();
        }
        LASTREF_TRY(found, store_->view(slot));
        last = std::move(found);
        return std::optional<os::Bytes>(last.bytes);
      };
      return home_.preserve(
          name,
          overwrite,
          [&] { is_frozen_ = true; },
          [&](os::Fd file) {
            return cache::write_snapshot(home_.os(), file, numbers_.length, value_of);
          });
    });
  }

  Result<bool> preload(const std::string& name) override {
    return os::within_memory("a cache", [&]() -> Result<bool> {
      LASTREF_CHECK(home_.check_process("preload"));
      const CallGuard held(*this);
      if (is_frozen_ || is_closed()) {
        return false;
      }
      LASTREF_TRY(preserved, home_.find_preserved(name));
      if (!preserved) {
        return false;
      }
      LASTREF_TRY(snapshot,
                  os::with_path(preserved->path,
                                cache::Snapshot::load(
                                    home_.os(), std::move(preserved->file), numbers_.length)));
      loaded_ = std::move(snapshot);
      store_.reset();
      is_frozen_ = true;
      home_.report([&] { return "loaded " + name; });
      return true;
    });
  }

  Status close() override {
    // A forked child closes its copy, which no other thread uses.
    const std::optional<CallGuard> held =
        home_.is_here() ? std::optional<CallGuard>(std::in_place, *this) : std::nullopt;
    store_.reset();
    loaded_.reset();
    return ok();
  }

  std::uint64_t size() const noexcept override { return numbers_.length; }
  bool is_multiprocess_safe() const noexcept override { return false; }
  bool is_multithread_safe() const noexcept override { return monitor_ != nullptr; }

 private:
  /// Enters the cache, exclusively if the cache is for threads.
  class CallGuard {
   public:
    explicit CallGuard(const CacheOfOne& cache) noexcept : cache_(cache) {
      if (cache_.monitor_) {
        cache_.inside_.fetch_add(1, std::memory_order_relaxed);
        cache_.monitor_->lock();
      }
    }
    CallGuard(const CallGuard&) = delete;
    CallGuard& operator=(const CallGuard&) = delete;
    ~CallGuard() {
      if (cache_.monitor_) {
        cache_.monitor_->unlock();
        cache_.inside_.fetch_sub(1, std::memory_order_release);
      }
    }

   private:
    const CacheOfOne& cache_;
  };

  /// In a forked child the copy of a file's cache would overwrite what its parent puts, and the
  /// copy of one for threads may be locked by a thread that does not exist there.
  Status check_process(const char* word) const {
    return is_bound_ ? home_.check_process(word) : ok();
  }

  /// The value of the slot, from either source; none if it is empty or the cache is closed.
  template <typename Found, typename OfLoaded, typename OfStore>
  Result<Found> look_up(std::uint64_t slot, OfLoaded of_loaded, OfStore of_store) const {
    LASTREF_CHECK(check_process("get"));
    const CallGuard held(*this);
    if (is_closed()) {
      return Found();
    }
    LASTREF_CHECK(cache::CacheHome::check_slot(slot, numbers_.length));
    if (loaded_) {
      return of_loaded();
    }
    return store_->has(slot) ? of_store() : Found();
  }

  bool is_closed() const noexcept { return !store_ && !loaded_; }

  cache::CacheHome home_;
  cache::Numbers numbers_;
  std::unique_ptr<os::Monitor> monitor_;  // none if one thread is all there is
  std::unique_ptr<Store> store_;
  std::unique_ptr<cache::Snapshot> loaded_;
  const bool is_bound_;
  mutable os::Atomic<std::uint64_t> inside_;
  bool is_frozen_ = false;
};

}  // namespace

Result<std::unique_ptr<SlotCache>> make_file_cache(os::Os& os,
                                                   std::shared_ptr<References> references,
                                                   std::int64_t length,
                                                   const SlotCacheOptions& options) {
  return os::within_memory("a cache", [&]() -> Result<std::unique_ptr<SlotCache>> {
    LASTREF_TRY(numbers, cache::check_numbers(length, options));
    LASTREF_TRY(slots, cache::new_vector<FileStore::Entry>(numbers.length));
    LASTREF_TRY(folder, cache::cache_folder(os, options.folder));
    SlotCacheOptions fixed = options;
    fixed.folder = folder;
    cache::sweep_dead(os, folder);
    LASTREF_TRY(own, cache::OwnedFile::make(os, references, folder, cache::live_ending));
    os::UniqueFd file = own.take_open();
    // From here on only descriptors keep the file: the kernel deletes it with the last one.
    LASTREF_CHECK(own.remove());
    auto store = std::make_unique<FileStore>(os, std::move(file), std::move(slots));
    return std::make_unique<CacheOfOne>(
        os, std::move(references), fixed, numbers, std::move(store), /*is_bound=*/true);
  });
}

Result<std::unique_ptr<SlotCache>> make_naive_cache(os::Os& os,
                                                    std::shared_ptr<References> references,
                                                    std::int64_t length,
                                                    const SlotCacheOptions& options) {
  return os::within_memory("a cache", [&]() -> Result<std::unique_ptr<SlotCache>> {
    LASTREF_TRY(numbers, cache::check_numbers(length, options));
    LASTREF_TRY(slots, cache::new_vector<MemoryStore::Slots::value_type>(numbers.length));
    SlotCacheOptions fixed = options;
    if (auto folder = cache::wanted_folder(os, options.folder)) {
      fixed.folder = *std::move(folder);
    } else if (options.folder) {
      return failure(std::move(folder).error());
    }
    auto store = std::make_unique<MemoryStore>(std::move(slots));
    return std::make_unique<CacheOfOne>(
        os, std::move(references), fixed, numbers, std::move(store), /*is_bound=*/false);
  });
}

}  // namespace lastref
