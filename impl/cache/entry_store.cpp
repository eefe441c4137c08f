#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include <lastref/cache.hpp>
#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>
#include <lastref/per_process.hpp>
#include <lastref/probe.hpp>

#include "impl/cache/entry_file.hpp"
#include "impl/cache/entry_index.hpp"
#include "impl/cache/key_locks.hpp"
#include "impl/cache/owned_file.hpp"
#include "impl/os/folders.hpp"
#include "impl/os/with_path.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::cache {
namespace {

constexpr const char* index_name = "index";
/// Ending of the file that the holder of a claim writes.
constexpr std::string_view new_ending = ".part";
/// The lock of the index. Those of keys follow.
constexpr std::uint64_t index_lock = 0;
/// Of the limit: what an eviction frees in addition, so that not each value needs a search.
constexpr std::uint64_t spare_part = 16;

/// At most the highest offset in a file.
std::uint64_t lock_of(const KeyHash& hash) noexcept {
  return 1 + (hash.high >> 2U);
}

/// Whether the path has something that is no file of an entry: a symlink or a folder.
bool is_planted(const Error& error) noexcept {
  return error.code == std::errc::too_many_symbolic_link_levels ||
         error.code == std::errc::is_a_directory;
}

class KeyClaim final : public Claim {
 public:
  explicit KeyClaim(KeyLocks::Held held) noexcept : held_(std::move(held)) {}
  bool is_ours() const noexcept { return held_.is_ours(); }

 private:
  KeyLocks::Held held_;
};

/// An entry as the index counts it.
struct Counted {
  std::string name;
  std::uint64_t size = 0;
  std::uint64_t last_use = 0;
};

class FolderStore final : public EntryStore {
 public:
  FolderStore(os::Os& os, std::string folder, const CacheOptions& options, std::uint64_t format)
      : os_(os), folder_(std::move(folder)), options_(options), format_(format), locks_(os) {}

  /// Counts the entries if they were not counted, and removes the files of killed writers.
  Status prepare();

  const std::string& folder() const noexcept override { return folder_; }
  const CacheOptions& options() const noexcept override { return options_; }
  Result<std::optional<EntryBytes>> find(os::Bytes key) override;
  Result<std::unique_ptr<Claim>> claim(os::Bytes key) override;
  Result<Kept> store(const Claim& claim, os::Bytes key, os::Bytes value) override;
  Result<bool> erase(os::Bytes key) override;
  Result<std::vector<std::string>> names() override;
  Result<std::optional<EntryBytes>> entry_named(const std::string& name) override;
  std::uint64_t count() noexcept override {
    refresh();
    return count_.load();
  }
  std::uint64_t size() noexcept override {
    refresh();
    return size_.load();
  }
  Result<std::uint64_t> save(const std::string& name) override;
  void report(const Error& error) noexcept override {
    os::report_quietly(os_, [&] { return "lastref cache: left out: " + describe(error); });
  }

 private:
  struct LocksHere {
    explicit LocksHere(os::Os& os) : monitor(os.make_monitor()) {}

    std::unique_ptr<os::Monitor> monitor;
    std::shared_ptr<KeyLocks> opened;
  };

  std::string path_of(const std::string& name) const { return folder_ + '/' + name; }
  std::string path_of(std::string_view name, std::string_view ending) const {
    return path_of(std::string(name).append(ending));
  }
  bool notes_uses() const noexcept {
    return options_.size_limit > 0 && options_.when_full == WhenFull::evict && !options_.is_frozen;
  }
  template <typename T>
  Result<T> in_index(Result<T> result) const {
    return os::with_path(path_of(index_name), std::move(result));
  }

  Result<std::shared_ptr<KeyLocks>> locks();
  Result<EntryIndex> index_now(const KeyLocks& locks);
  Result<std::vector<Counted>> counted();
  Status remember(const KeyLocks& locks, const EntryIndex& index);
  void refresh() noexcept;
  Result<std::optional<MappedEntry>> mapped(const std::string& path, bool notes);
  void note_use(os::Fd file, std::uint64_t last_use) noexcept;
  Result<os::UniqueFd> create_new(const std::string& path);
  Result<Kept> write_new(const std::string& part,
                         const std::string& name,
                         os::Bytes key,
                         os::Bytes value);
  Result<PutOutcome> publish(const std::string& part, const std::string& name, std::uint64_t size);
  Result<EntryIndex> evict(EntryIndex index, const std::string& kept);
  Status check_new();
  Result<bool> is_ours(const std::string& name);
  Status remove_parts(KeyLocks& locks);

  os::Os& os_;
  std::string folder_;
  CacheOptions options_;
  std::uint64_t format_;
  os::PerProcess<LocksHere> locks_;
  std::atomic<std::uint64_t> count_ = 0;
  std::atomic<std::uint64_t> size_ = 0;
  std::atomic<bool> has_warned_ = false;
};

Result<std::shared_ptr<KeyLocks>> FolderStore::locks() {
  LocksHere& here = locks_.here();
  const os::MonitorLock held(*here.monitor);
  if (here.opened == nullptr) {
    LASTREF_TRY(opened, in_index(KeyLocks::open(os_, path_of(index_name))));
    here.opened = std::move(opened);
  }
  return here.opened;
}

/// All entries, and what has the name of one.
Result<std::vector<Counted>> FolderStore::counted() {
  LASTREF_TRY(all, names());
  std::vector<Counted> counted;
  for (std::string& name : all) {
    const std::string path = path_of(name);
    const auto there = os_.status_at(path);
    if (failed_with(there, std::errc::no_such_file_or_directory)) {
      continue;
    }
    LASTREF_CHECK(there);
    std::uint64_t last_use = 0;
    if (there->kind == os::FileKind::folder) {
      continue;  // Cannot be removed as an entry.
    }
    if (there->kind == os::FileKind::regular) {
      LASTREF_TRY(file, os::open_file(os_, path, {}));
      LASTREF_TRY(read, os::with_path(path, read_last_use(os_, file.get())));
      last_use = read;
    }
    counted.push_back({.name = std::move(name), .size = there->size, .last_use = last_use});
  }
  return counted;
}

/// Returns the index, with its lock held.
Result<EntryIndex> FolderStore::index_now(const KeyLocks& locks) {
  LASTREF_TRY(read, read_index(os_, locks.file(), path_of(index_name)));
  EntryIndex index = read.value_or(EntryIndex{});
  if (!read) {
    index.format = format_;
  }
  if (index.format != format_ && index.format != 0 && format_ != 0) {
    return failure(std::errc::invalid_argument,
                   folder_ + " (a cache with keys or values of another type)");
  }
  if (index.is_clean == 0) {
    os_.hit(Probe::entries_counted_again);
    LASTREF_TRY(all, counted());
    index.count = all.size();
    index.size = 0;
    for (const Counted& each : all) {
      index.size += each.size;
      index.stores = std::max(index.stores, each.last_use);
    }
    LASTREF_CHECK(remember(locks, index));
  }
  count_.store(index.count);
  size_.store(index.size);
  return index;
}

Status FolderStore::remember(const KeyLocks& locks, const EntryIndex& index) {
  count_.store(index.count);
  size_.store(index.size);
  return in_index(write_index(os_, locks.file(), index));
}

void FolderStore::refresh() noexcept {
  const auto act = [&]() -> Status {
    LASTREF_TRY(locks, this->locks());
    LASTREF_TRY(held, locks->lock(index_lock));
    LASTREF_CHECK(index_now(*locks));
    return ok();
  };
  static_cast<void>(os::within_memory("a cache", act));
}

/// A folder of other files does not become a cache, which could remove them.
Status FolderStore::check_new() {
  if (!failed_with(os_.status_at(path_of(index_name)), std::errc::no_such_file_or_directory)) {
    return ok();
  }
  LASTREF_TRY(all, os::names_in(os_, folder_));
  for (const std::string& name : all) {
    LASTREF_TRY(ours, is_ours(name));
    if (!ours) {
      return failure(std::errc::directory_not_empty,
                     folder_ + " (not a cache: it has no index, and another file, " + name + ')');
    }
  }
  return ok();
}

Result<bool> FolderStore::is_ours(const std::string& name) {
  const std::string_view stem =
      std::string_view(name).substr(0, std::min(name.size(), entry_name({}).size()));
  const bool is_part = stem.size() + new_ending.size() == name.size() && name.ends_with(new_ending);
  if (name == index_name || (is_part && hash_named(stem))) {
    return true;  // Another process is making it.
  }
  if (!hash_named(name)) {
    return false;
  }
  auto file = os::open_file(os_, path_of(name), {});
  if (!file) {
    return is_planted(file.error()) ? Result<bool>(false) : failure(std::move(file).error());
  }
  return os::with_path(path_of(name), has_entry(os_, file->get()));
}

Status FolderStore::prepare() {
  LASTREF_CHECK(check_new());
  LASTREF_TRY(locks, this->locks());
  {
    LASTREF_TRY(held, in_index(locks->lock(index_lock)));
    LASTREF_CHECK(index_now(*locks));
  }
  if (const Status removed = remove_parts(*locks); !removed) {
    os::report_quietly(os_, [&] {
      return "lastref cache: files of killed writers are left to the next start: " +
             describe(removed.error());
    });
  }
  return ok();
}

Status FolderStore::remove_parts(KeyLocks& locks) {
  LASTREF_TRY(all, os::names_in(os_, folder_));
  for (const std::string& name : all) {
    const std::string_view stem =
        std::string_view(name).substr(0, name.size() - std::min(name.size(), new_ending.size()));
    const auto hash = hash_named(stem);
    if (!hash || !name.ends_with(new_ending)) {
      continue;
    }
    LASTREF_TRY(held, in_index(locks.try_lock(lock_of(*hash))));
    if (held) {
      os_.hit(Probe::dead_writers_file_removed);
      LASTREF_CHECK(os::discard(os_, path_of(name)));
    }
  }
  return ok();
}

Result<std::optional<MappedEntry>> FolderStore::mapped(const std::string& path, bool notes) {
  auto opened = os::open_file(os_, path, {.write = notes});
  if (failed_with(opened, std::errc::no_such_file_or_directory)) {
    return std::optional<MappedEntry>();
  }
  if (!opened && is_planted(opened.error())) {
    os_.hit(Probe::bad_entry_refused);
    return std::optional<MappedEntry>();
  }
  LASTREF_TRY(file, std::move(opened));
  LASTREF_TRY(entry, os::with_path(path, map_entry(os_, file.get())));
  if (entry && notes) {
    note_use(file.get(), entry->last_use);
  }
  return entry;
}

/// Without it the entry is only evicted earlier.
void FolderStore::note_use(os::Fd file, std::uint64_t last_use) noexcept {
  const auto act = [&]() -> Status {
    LASTREF_TRY(locks, this->locks());
    LASTREF_TRY(index, read_index(os_, locks->file(), path_of(index_name)));
    return index && last_use < index->stores ? write_last_use(os_, file, index->stores) : ok();
  };
  const Status noted = os::within_memory("a cache", act);
  if (!noted && !has_warned_.exchange(/*value=*/true)) {
    os::report_quietly(os_, [&] {
      return "lastref cache: entries may be evicted too early: " + describe(noted.error());
    });
  }
}

Result<std::optional<EntryBytes>> FolderStore::find(os::Bytes key) {
  return os::within_memory("a cache", [&]() -> Result<std::optional<EntryBytes>> {
    LASTREF_TRY(entry, mapped(path_of(entry_name(hash_of(key))), notes_uses()));
    if (!entry || !std::ranges::equal(entry->bytes.key, key)) {
      return std::optional<EntryBytes>();
    }
    return std::move(entry->bytes);
  });
}

Result<std::optional<EntryBytes>> FolderStore::entry_named(const std::string& name) {
  return os::within_memory("a cache", [&]() -> Result<std::optional<EntryBytes>> {
    LASTREF_TRY(entry, mapped(path_of(name), /*notes=*/false));
    if (!entry || entry_name(hash_of(entry->bytes.key)) != name) {
      return std::optional<EntryBytes>();
    }
    return std::move(entry->bytes);
  });
}

Result<std::unique_ptr<Claim>> FolderStore::claim(os::Bytes key) {
  return os::within_memory("a cache", [&]() -> Result<std::unique_ptr<Claim>> {
    LASTREF_TRY(locks, this->locks());
    LASTREF_TRY(held, in_index(locks->lock(lock_of(hash_of(key)))));
    return std::make_unique<KeyClaim>(std::move(held));
  });
}

/// The claim of the key is held, so an existing file is that of a killed writer.
Result<os::UniqueFd> FolderStore::create_new(const std::string& path) {
  const os::OpenOptions options = {.write = true, .create = true};
  auto created = os::open_file(os_, path, options);
  if (failed_with(created, std::errc::file_exists)) {
    os_.hit(Probe::dead_writers_file_removed);
    LASTREF_CHECK(os::discard(os_, path));
    created = os::open_file(os_, path, options);
  }
  return created;
}

Result<Kept> FolderStore::store(const Claim& claim, os::Bytes key, os::Bytes value) {
  if (!static_cast<const KeyClaim&>(claim).is_ours()) {
    return failure(std::errc::operation_not_permitted,
                   folder_ + " (a forked child stores no value that its parent computes)");
  }
  return os::within_memory("a cache", [&]() -> Result<Kept> {
    if (options_.size_limit > 0 && entry_size(key.size(), value.size()) > options_.size_limit) {
      return Kept{.outcome = PutOutcome::full};
    }
    const std::string name = entry_name(hash_of(key));
    const std::string part = path_of(name, new_ending);
    auto written = os::within_memory("a cache", [&] { return write_new(part, name, key, value); });
    if (!written || written->outcome != PutOutcome::stored) {
      const Status discarded = os::discard(os_, part);
      LASTREF_CHECK(written);
      LASTREF_CHECK(discarded);
    }
    return written;
  });
}

/// After an error `store` removes the file.
Result<Kept> FolderStore::write_new(const std::string& part,
                                    const std::string& name,
                                    os::Bytes key,
                                    os::Bytes value) {
  LASTREF_TRY(locks, this->locks());
  LASTREF_TRY(index, read_index(os_, locks->file(), path_of(index_name)));
  const std::uint64_t use = index ? index->stores + 1 : 0;
  LASTREF_TRY(file, create_new(part));
  LASTREF_CHECK(os::with_path(part, write_entry(os_, file.get(), use, key, value)));
  LASTREF_TRY(entry, os::with_path(part, map_entry(os_, file.get())));
  if (!entry) {
    return failure(std::errc::bad_message, part + " (another program has written to it)");
  }
  if (options_.is_durable) {
    LASTREF_CHECK(os::with_path(part, os::sync_file(os_, file.get())));
  }
  LASTREF_CHECK(os::with_path(part, file.close()));
  LASTREF_TRY(outcome, publish(part, name, entry_size(key.size(), value.size())));
  return Kept{.outcome = outcome, .entry = std::move(entry->bytes)};
}

Result<PutOutcome> FolderStore::publish(const std::string& part,
                                        const std::string& name,
                                        std::uint64_t size) {
  const std::string path = path_of(name);
  LASTREF_TRY(locks, this->locks());
  LASTREF_TRY(held, in_index(locks->lock(index_lock)));
  LASTREF_TRY(index, index_now(*locks));
  const auto replaced = os_.status_at(path);
  if (!failed_with(replaced, std::errc::no_such_file_or_directory)) {
    LASTREF_CHECK(replaced);
    --index.count;
    index.size -= replaced->size;
  }
  ++index.count;
  ++index.stores;
  index.size += size;
  const bool is_over = options_.size_limit > 0 && index.size > options_.size_limit;
  if (is_over && options_.when_full == WhenFull::refuse) {
    return PutOutcome::full;
  }
  os::UniqueFd folder;
  if (options_.is_durable) {
    LASTREF_TRY(opened, os::open_file(os_, folder_, {.folder = true}));
    folder = std::move(opened);
  }
  LASTREF_CHECK(in_index(mark_unclean(os_, locks->file())));
  if (is_over) {
    LASTREF_TRY(smaller, evict(index, name));
    index = smaller;
  }
  LASTREF_CHECK(os_.rename(part, path));
  LASTREF_CHECK(remember(*locks, index));
  if (folder) {
    LASTREF_CHECK(os::with_path(folder_, os::sync_file(os_, folder.get())));
  }
  return PutOutcome::stored;
}

/// Removes entries, except the one of that name, until there is space. Returns the index without
/// them.
Result<EntryIndex> FolderStore::evict(EntryIndex index, const std::string& kept) {
  LASTREF_TRY(all, counted());
  std::ranges::sort(all, [](const Counted& one, const Counted& other) {
    return std::pair(one.last_use, std::string_view(one.name)) <
           std::pair(other.last_use, std::string_view(other.name));
  });
  const std::uint64_t size_max = options_.size_limit - options_.size_limit / spare_part;
  for (const Counted& each : all) {
    if (index.size <= size_max) {
      break;
    }
    if (each.name != kept) {
      os_.hit(Probe::entry_evicted);
      LASTREF_CHECK(os::discard(os_, path_of(each.name)));
      --index.count;
      index.size -= each.size;
    }
  }
  return index;
}

Result<bool> FolderStore::erase(os::Bytes key) {
  return os::within_memory("a cache", [&]() -> Result<bool> {
    LASTREF_TRY(locks, this->locks());
    LASTREF_TRY(held, in_index(locks->lock(index_lock)));
    LASTREF_TRY(index, index_now(*locks));
    const std::string path = path_of(entry_name(hash_of(key)));
    LASTREF_TRY(entry, mapped(path, /*notes=*/false));
    if (!entry || !std::ranges::equal(entry->bytes.key, key)) {
      return false;
    }
    LASTREF_CHECK(in_index(mark_unclean(os_, locks->file())));
    LASTREF_CHECK(os::discard(os_, path));
    --index.count;
    index.size -= entry_size(entry->bytes.key.size(), entry->bytes.value.size());
    LASTREF_CHECK(remember(*locks, index));
    return true;
  });
}

Result<std::vector<std::string>> FolderStore::names() {
  return os::within_memory("a cache", [&]() -> Result<std::vector<std::string>> {
    LASTREF_TRY(all, os::names_in(os_, folder_));
    std::erase_if(all, [](const std::string& name) { return !hash_named(name); });
    std::ranges::sort(all);
    return all;
  });
}

Result<std::uint64_t> FolderStore::save(const std::string& name) {
  return os::within_memory("a cache", [&]() -> Result<std::uint64_t> {
    CacheOptions unlimited;
    unlimited.is_durable = options_.is_durable;
    LASTREF_TRY(other, EntryStore::open(os_, name, unlimited, format_));
    LASTREF_TRY(all, names());
    std::uint64_t saved = 0;
    for (const std::string& each : all) {
      LASTREF_TRY(entry, entry_named(each));
      if (!entry) {
        continue;
      }
      LASTREF_TRY(claim, other->claim(entry->key));
      LASTREF_TRY(found, other->find(entry->key));
      if (!found) {
        LASTREF_CHECK(other->store(*claim, entry->key, entry->value));
        ++saved;
      }
    }
    return saved;
  });
}

/// The stores that open_once has opened.
struct Opened {
  explicit Opened(os::Os& os) : monitor(os.make_monitor()) {}

  std::unique_ptr<os::Monitor> monitor;
  std::map<std::string, std::shared_ptr<EntryStore>> stores;
};

Result<std::string> folder_named(os::Os& os, const std::string& name) {
  std::string path = name;
  if (name.find('/') == std::string::npos) {
    LASTREF_TRY(home, wanted_folder(os, {}));
    LASTREF_TRY(path_at_home, path_in(home, name));
    path = std::move(path_at_home);
  }
  return cache_folder(os, path);
}

}  // namespace

std::uint64_t EntryStore::format_of(const char* key, const char* value) noexcept {
  const auto hash_of_name = [](const char* name) {
    return hash_of(std::as_bytes(std::span(std::string_view(name)))).low;
  };
  return (hash_of_name(key) * 3 + hash_of_name(value)) | 1U;
}

Result<std::shared_ptr<EntryStore>> EntryStore::open(os::Os& os,
                                                     const std::string& name,
                                                     const CacheOptions& options,
                                                     std::uint64_t format) {
  return os::within_memory("a cache", [&]() -> Result<std::shared_ptr<EntryStore>> {
    LASTREF_TRY(folder, folder_named(os, name));
    const auto made = std::make_shared<FolderStore>(os, std::move(folder), options, format);
    LASTREF_CHECK(made->prepare());
    return std::shared_ptr<EntryStore>(made);
  });
}

Result<std::shared_ptr<EntryStore>> EntryStore::open_once(const std::string& name,
                                                          const CacheOptions& options,
                                                          std::uint64_t format) {
  return os::within_memory("a cache", [&]() -> Result<std::shared_ptr<EntryStore>> {
    os::Os& os = os_of_process();
    // Never destroyed: static objects may use it.
    static const auto& opened = *new os::PerProcess<Opened>(os);
    Opened& here = opened.here();
    const std::string arguments = name + '\0' + std::to_string(options.size_limit) + ' ' +
                                  std::to_string(static_cast<int>(options.when_full)) +
                                  std::to_string(static_cast<int>(options.is_frozen)) +
                                  std::to_string(static_cast<int>(options.is_durable)) + ' ' +
                                  std::to_string(format);
    const os::MonitorLock held(*here.monitor);
    std::shared_ptr<EntryStore>& store = here.stores[arguments];
    if (store == nullptr) {
      LASTREF_TRY(made, open(os, name, options, format));
      store = std::move(made);
    }
    return store;
  });
}

os::Os& EntryStore::os_of_process() {
  return os::KernelOs::of_process({.program = "/proc/self/exe"});  // Processes run this program.
}

}  // namespace lastref::cache
