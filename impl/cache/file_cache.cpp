// The caches of one process: a file without a name, and memory.
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lastref/cache.hpp>

#include "impl/cache/copy.hpp"
#include "impl/cache/owner.hpp"
#include "impl/cache/room.hpp"
#include "impl/cache/snapshot.hpp"

namespace lastref {
namespace {

using Copied = std::optional<std::vector<std::byte>>;
using Viewed = std::optional<CachedBytes>;
using Kept = std::shared_ptr<const std::vector<std::byte>>;

/// Where the values of a cache of one process are.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  virtual bool has(std::uint64_t slot) const noexcept = 0;
  /// bytes; with all that is there, as the limit counts.
  virtual std::uint64_t end() const noexcept = 0;
  virtual Status put(std::uint64_t slot, os::Bytes value) = 0;
  /// Of a slot that has one.
  virtual Result<Kept> get(std::uint64_t slot) = 0;
};

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(std::vector<Kept> slots) : values_(std::move(slots)) {}

  bool has(std::uint64_t slot) const noexcept override { return values_[slot] != nullptr; }
  std::uint64_t end() const noexcept override { return end_; }

  Status put(std::uint64_t slot, os::Bytes value) override {
    LASTREF_TRY(copy, cache::copy_of(value));
    values_[slot] = std::make_shared<const std::vector<std::byte>>(std::move(copy));
    end_ += value.size();
    return ok();
  }

  Result<Kept> get(std::uint64_t slot) override { return values_[slot]; }

 private:
  std::vector<Kept> values_;
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

  Result<Kept> get(std::uint64_t slot) override {
    const Entry& entry = entries_[slot];
    LASTREF_TRY(bytes, cache::new_vector<std::byte>(entry.size));
    LASTREF_TRY(count, os::read_until_full_at(os_, file_.get(), bytes, entry.offset));
    if (count != bytes.size()) {
      return failure(std::errc::bad_message, "slot " + std::to_string(slot) + " is cut short");
    }
    return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  }

 private:
  os::Os& os_;
  os::UniqueFd file_;
  std::vector<Entry> entries_;
  std::uint64_t end_ = 0;
};

/// Holds a monitor if there is one.
class MaybeHeld {
 public:
  explicit MaybeHeld(os::Monitor* monitor) noexcept : monitor_(monitor) {
    if (monitor_ != nullptr) {
      monitor_->lock();
    }
  }
  MaybeHeld(const MaybeHeld&) = delete;
  MaybeHeld& operator=(const MaybeHeld&) = delete;
  ~MaybeHeld() {
    if (monitor_ != nullptr) {
      monitor_->unlock();
    }
  }

 private:
  os::Monitor* monitor_;
};

class CacheOfOne final : public Cache {
 public:
  CacheOfOne(os::Os& os,
             std::shared_ptr<References> references,
             const CacheOptions& options,
             const cache::Numbers& numbers,
             std::unique_ptr<Store> store)
      : owner_(os, std::move(references), options),
        numbers_(numbers),
        monitor_(options.is_thread_safe ? os.make_monitor() : nullptr),
        store_(std::move(store)) {}

  Result<bool> put(std::uint64_t slot, os::Bytes value) override {
    const MaybeHeld held(monitor_.get());
    if (is_frozen_ || !store_) {
      return false;
    }
    LASTREF_CHECK(cache::Owner::check_slot(slot, numbers_.length));
    if (store_->has(slot)) {
      return false;
    }
    if (numbers_.size_limit > 0 && store_->end() + value.size() > numbers_.size_limit) {
      is_frozen_ = true;
      return false;
    }
    const Status stored = store_->put(slot, value);
    if (!stored && cache::is_out_of_room(stored.error())) {
      owner_.warn_of_room(slot, value.size());
      return false;
    }
    LASTREF_CHECK(stored);
    return true;
  }

  Result<Copied> get(std::uint64_t slot) override {
    LASTREF_TRY(found, view(slot));
    if (!found) {
      return Copied();
    }
    LASTREF_TRY(copy, cache::copy_of(found->bytes));
    return Copied(std::move(copy));
  }

  Result<Viewed> view(std::uint64_t slot) override {
    const MaybeHeld held(monitor_.get());
    if (is_closed()) {
      return Viewed();
    }
    LASTREF_CHECK(cache::Owner::check_slot(slot, numbers_.length));
    if (loaded_) {
      return loaded_->view(slot);
    }
    if (!store_->has(slot)) {
      return Viewed();
    }
    LASTREF_TRY(kept, store_->get(slot));
    return CachedBytes{.bytes = *kept, .keeper = kept};
  }

  Result<Copied> get_checked(std::uint64_t slot) override {
    {
      const MaybeHeld held(monitor_.get());
      if (loaded_) {
        LASTREF_CHECK(cache::Owner::check_slot(slot, numbers_.length));
        return loaded_->read(slot);
      }
    }
    return get(slot);
  }

  Result<bool> preserve(const std::string& name, bool overwrite) override {
    const MaybeHeld held(monitor_.get());
    LASTREF_CHECK(owner_.check_process("preserve"));
    if (is_closed()) {
      return false;
    }
    Kept kept;
    const auto value_of = [&](std::uint64_t slot) -> Result<std::optional<os::Bytes>> {
      if (loaded_) {
        return loaded_->find(slot);
      }
      if (!store_->has(slot)) {
        return std::optional<os::Bytes>();
      }
      LASTREF_TRY(found, store_->get(slot));
      kept = std::move(found);
      return std::optional<os::Bytes>(*kept);
    };
    return owner_.preserve(
        name,
        overwrite,
        [&] { is_frozen_ = true; },
        [&](os::Fd file) {
          return cache::write_snapshot(owner_.os(), file, numbers_.length, value_of);
        });
  }

  Result<bool> preload(const std::string& name) override {
    const MaybeHeld held(monitor_.get());
    LASTREF_CHECK(owner_.check_process("preload"));
    if (is_frozen_ || is_closed()) {
      return false;
    }
    LASTREF_TRY(file, owner_.find_preserved(name));
    if (!file) {
      return false;
    }
    LASTREF_TRY(snapshot, cache::Snapshot::load(owner_.os(), std::move(file), numbers_.length));
    loaded_ = std::move(snapshot);
    store_.reset();
    is_frozen_ = true;
    owner_.tell("loaded " + name);
    return true;
  }

  Status close() override {
    const MaybeHeld held(monitor_.get());
    store_.reset();
    loaded_.reset();
    return ok();
  }

  std::uint64_t size() const noexcept override { return numbers_.length; }
  bool is_multiprocess_safe() const noexcept override { return false; }
  bool is_multithread_safe() const noexcept override { return monitor_ != nullptr; }

 private:
  bool is_closed() const noexcept { return !store_ && !loaded_; }

  cache::Owner owner_;
  cache::Numbers numbers_;
  std::unique_ptr<os::Monitor> monitor_;  // none if one thread is all there is
  std::unique_ptr<Store> store_;
  std::unique_ptr<cache::Snapshot> loaded_;
  bool is_frozen_ = false;
};

}  // namespace

Result<std::unique_ptr<Cache>> make_file_cache(os::Os& os,
                                               std::shared_ptr<References> references,
                                               std::int64_t length,
                                               const CacheOptions& options) {
  LASTREF_TRY(numbers, cache::check_numbers(length, options));
  LASTREF_TRY(slots, cache::new_vector<FileStore::Entry>(numbers.length));
  LASTREF_TRY(folder, cache::cache_folder(os, options.folder));
  LASTREF_TRY(own, cache::OwnFile::make(os, references, folder, ".cache"));
  os::UniqueFd file = own.take_open();
  // From here on the kernel counts: the file goes with its last descriptor.
  LASTREF_CHECK(own.remove());
  auto store = std::make_unique<FileStore>(os, std::move(file), std::move(slots));
  return std::make_unique<CacheOfOne>(
      os, std::move(references), options, numbers, std::move(store));
}

Result<std::unique_ptr<Cache>> make_naive_cache(os::Os& os,
                                                std::shared_ptr<References> references,
                                                std::int64_t length,
                                                const CacheOptions& options) {
  LASTREF_TRY(numbers, cache::check_numbers(length, options));
  LASTREF_TRY(slots, cache::new_vector<Kept>(numbers.length));
  auto store = std::make_unique<MemoryStore>(std::move(slots));
  return std::make_unique<CacheOfOne>(
      os, std::move(references), options, numbers, std::move(store));
}

}  // namespace lastref
