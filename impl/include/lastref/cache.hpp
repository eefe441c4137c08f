// Cache: values by key in a folder, for all processes, threads and runs that open it.
//
//   auto images = lastref::Cache<std::string, std::vector<std::byte>>::open("images", {}).value();
//   auto image = images.get_or_compute(path, [&] { return decode(path); }).value();
//
// Each entry is one file, named by a hash of its key, with the key in it. It is written under
// another name and then renamed. So whenever a process is killed, an entry is complete or absent.
// The file of a killed writer is removed by the next computation of that key, or when the cache is
// opened next. An entry never changes: its view stays valid after it was evicted or erased, and
// while the view exists.
//
// Pitfalls:
// - A key has one computation at a time, over all processes and threads. If the computing process
//   is killed, one of those that wait computes. A function may request other keys, but not its own.
//   Two functions that request each other's keys wait indefinitely.
// - A file that is no entry of this cache counts as absent, whatever its contents. The next value
//   of that key replaces it.
// - With a size limit, each use of an entry is noted in its file. The order of uses is exact as far
//   as they are separated by stored values.
// - Values of std::string and of std::vector with trivially copyable elements are returned as views
//   of the mapped file. Others are decoded. If another program truncates a file, processes that
//   have it mapped get SIGBUS.
// - Two copies of the library in one process, as in a plugin, do not exclude each other.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <lastref/codec.hpp>
#include <lastref/error.hpp>
#include <lastref/os.hpp>

namespace lastref {

/// What a cache does with a value for which its size limit has no space.
enum class WhenFull : std::uint8_t {
  evict,   ///< Removes the entries that were used least recently.
  refuse,  ///< Does not store it.
};

struct CacheOptions {
  /// bytes of all entries, each with its key and up to 96 bytes more. 0: no limit.
  std::uint64_t size_limit = 0;
  WhenFull when_full = WhenFull::evict;
  /// Stores nothing: `put` returns `frozen`, and `get_or_compute` computes what is absent.
  bool is_frozen = false;
  /// An entry is on its device before any process can see it.
  bool is_durable = false;
};

/// What `put` has done.
enum class PutOutcome : std::uint8_t {
  stored,
  present,  ///< The key has a value, which stays.
  frozen,   ///< See CacheOptions::is_frozen.
  full,     ///< The value is larger than the size limit, or there is no space and WhenFull::refuse.
};

namespace cache {

/// An entry in its map. The bytes stay where they are while the keeper exists.
struct EntryBytes {
  os::Bytes key;
  os::Bytes value;
  std::shared_ptr<const void> keeper;
};

/// The result of storing a value; `entry` is set if it was stored.
struct Kept {
  PutOutcome outcome = PutOutcome::stored;
  std::optional<EntryBytes> entry = {};
};

/// The right of one thread to store the value of one key. The destructor gives it up.
class Claim {
 public:
  Claim() = default;
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  virtual ~Claim() = default;
};

/// Entries of bytes in a folder. Any thread may call; a forked child too.
class EntryStore {
 public:
  EntryStore() = default;
  EntryStore(const EntryStore&) = delete;
  EntryStore& operator=(const EntryStore&) = delete;
  virtual ~EntryStore() = default;

  /// `format` is that of the types of keys and values. The Os outlives the store and its entries.
  ///
  /// Errors          see Cache::open.
  static Result<std::shared_ptr<EntryStore>> open(os::Os& os,
                                                  const std::string& name,
                                                  const CacheOptions& options,
                                                  std::uint64_t format);
  /// As above with the Os of the process. The store stays open until the process ends; a second
  /// call with the same arguments returns the same store.
  ///
  /// Errors          see Cache::open: nothing is kept.
  static Result<std::shared_ptr<EntryStore>> open_once(const std::string& name,
                                                       const CacheOptions& options,
                                                       std::uint64_t format);
  static os::Os& os_of_process();
  /// A number for the mangled names of both types; not 0.
  static std::uint64_t format_of(const char* key, const char* value) noexcept;

  virtual const std::string& folder() const noexcept = 0;
  virtual const CacheOptions& options() const noexcept = 0;

  /// Returns none if there is no valid entry.
  ///
  /// Errors          of open, status, map and close: nothing has changed.
  virtual Result<std::optional<EntryBytes>> find(os::Bytes key) = 0;
  /// Waits while another thread or process has the claim.
  ///
  /// Errors          resource_deadlock_would_occur: this thread has it; of lock_range.
  virtual Result<std::unique_ptr<Claim>> claim(os::Bytes key) = 0;
  /// Stores the value for the claimed key, in the place of an invalid one.
  ///
  /// Errors          operation_not_permitted: the claim is that of a parent process; errors of
  ///                 writing: nothing remains.
  virtual Result<Kept> store(const Claim& claim, os::Bytes key, os::Bytes value) = 0;
  /// Returns false if there is no valid entry.
  ///
  /// Errors          of lock_range, write_at and unlink: the entry exists.
  virtual Result<bool> erase(os::Bytes key) = 0;
  /// Returns the names of all entries, sorted.
  ///
  /// Errors          of open and read_folder: nothing has changed.
  virtual Result<std::vector<std::string>> names() = 0;
  /// Returns none if there is no valid entry of this name any more.
  ///
  /// Errors          as find.
  virtual Result<std::optional<EntryBytes>> entry_named(const std::string& name) = 0;
  /// Number of entries, and their bytes. After an error of a call, the last known numbers.
  virtual std::uint64_t count() noexcept = 0;
  virtual std::uint64_t size() noexcept = 0;
  /// Errors          see Cache::save.
  virtual Result<std::uint64_t> save(const std::string& name) = 0;
  /// Reports an error of an iteration on standard error.
  virtual void report(const Error& error) noexcept = 0;
};

/// The format of a cache of these types. 0: it cannot be known without RTTI, and is that of any.
template <typename K, typename V>
std::uint64_t format_of() noexcept {
#ifdef __cpp_rtti
  return EntryStore::format_of(typeid(K).name(), typeid(V).name());
#else
  return 0;
#endif
}

}  // namespace cache

/// A span or string_view of a value that stays where it is, even if its entry is evicted.
template <typename Base>
class CachedView : public Base {
 public:
  CachedView() = default;
  CachedView(Base base, std::shared_ptr<const void> keeper) noexcept
      : Base(base), keeper_(std::move(keeper)) {}

 private:
  std::shared_ptr<const void> keeper_;
};

/// How keys and values of a type are stored and returned: here those that are decoded.
template <typename T>
struct CachedType {
  using View = T;

  static Result<std::vector<std::byte>> bytes_of(const T& value) {
    return result_within_memory("a cache",
                                [&]() -> Result<std::vector<std::byte>> { return encode(value); });
  }
  static Result<T> copy(os::Bytes bytes) { return decode<T>(bytes); }
  static Result<View> view(os::Bytes bytes, const std::shared_ptr<const void>& /*keeper*/) {
    return copy(bytes);
  }
  /// Returns a value that is not stored.
  static Result<View> hold(T value) { return value; }
};

/// Those that are viewed in their place.
template <typename T, typename Base>
struct ViewedType {
  using Each = typename T::value_type;
  using View = CachedView<Base>;
  static_assert(alignof(Each) <= 64);

  static Result<os::Bytes> bytes_of(const T& value) { return std::as_bytes(std::span(value)); }
  static Result<T> copy(os::Bytes bytes) {
    LASTREF_TRY(elements, elements_in(bytes));
    return result_within_memory("a cache",
                                [&]() -> Result<T> { return T(elements.begin(), elements.end()); });
  }
  static Result<View> view(os::Bytes bytes, std::shared_ptr<const void> keeper) {
    LASTREF_TRY(elements, elements_in(bytes));
    return View(elements, std::move(keeper));
  }
  static Result<View> hold(T value) {
    return result_within_memory("a cache", [&]() -> Result<View> {
      const auto kept = std::make_shared<const T>(std::move(value));
      return View(*kept, kept);
    });
  }

 private:
  static Result<Base> elements_in(os::Bytes bytes) {
    if (bytes.size() % sizeof(Each) != 0) {
      return failure(std::errc::bad_message, "a part of an element");
    }
    return Base(reinterpret_cast<const Each*>(bytes.data()), bytes.size() / sizeof(Each));
  }
};

template <>
struct CachedType<std::string> : ViewedType<std::string, std::string_view> {};

template <typename T>
requires(std::is_trivially_copyable_v<T> &&
         !std::same_as<T, bool>) struct CachedType<std::vector<T>>
    : ViewedType<std::vector<T>, std::span<const T>> {
};

/// A handle: copies refer to the same cache. Any thread may call. K and V have codecs.
template <typename K, typename V>
class Cache {
 public:
  using Type = CachedType<V>;
  /// A view of the mapped file for std::string and vectors of trivially copyable elements, else V.
  using View = typename Type::View;

  /// Opens the cache of that name, which continues with all entries of earlier runs. A name without
  /// a slash is a folder in $XDG_CACHE_HOME/lastref, else in ~/.cache/lastref; another one is the
  /// path of a folder. The folder is created if it does not exist.
  ///
  /// Errors          invalid_argument: not a name, or the cache has keys or values of another type;
  ///                 bad_message: the folder has an index of something else; not_supported: it is
  ///                 on a network; permission_denied: other users could replace its files;
  ///                 filename_too_long; of system calls.
  static Result<Cache> open(const std::string& name, const CacheOptions& options = {}) {
    return open(cache::EntryStore::os_of_process(), name, options);
  }
  /// The Os outlives the cache and its views.
  static Result<Cache> open(os::Os& os, const std::string& name, const CacheOptions& options = {}) {
    LASTREF_TRY(store, cache::EntryStore::open(os, name, options, cache::format_of<K, V>()));
    return Cache(std::move(store));
  }

  /// Returns the value of the key; none if it has none.
  ///
  /// Errors          of system calls; not_enough_memory.
  Result<std::optional<View>> get(const K& key) {
    LASTREF_TRY(name, CachedType<K>::bytes_of(key));
    return find(name);
  }
  Result<bool> contains(const K& key) {
    LASTREF_TRY(found, get(key));
    return found.has_value();
  }

  /// Stores the value if the key has none. Waits while another thread or process computes it.
  ///
  /// Errors          no_space_on_device and other errors of writing: nothing remains, except that
  ///                 after an error of writing the index the value may be stored;
  ///                 resource_deadlock_would_occur: this thread computes the value of that key.
  Result<PutOutcome> put(const K& key, const V& value) {
    LASTREF_TRY(name, CachedType<K>::bytes_of(key));
    LASTREF_TRY(bytes, Type::bytes_of(value));
    if (store_->options().is_frozen) {
      return PutOutcome::frozen;
    }
    LASTREF_TRY(claim, store_->claim(name));
    LASTREF_TRY(found, find(name));
    if (found) {
      return PutOutcome::present;
    }
    LASTREF_TRY(kept, store_->store(*claim, name, bytes));
    return kept.outcome;
  }

  /// Returns the value of the key. If it has none, calls `compute`, which returns V or Result<V>,
  /// and stores its value. Other threads and processes that request the key wait meanwhile, and get
  /// the same value. An exception or error of `compute` is passed on, and the key stays without a
  /// value. What a cache does not store, because it is full or frozen, is returned all the same.
  ///
  /// Errors          of `compute`; as put.
  template <std::invocable F>
  Result<View> get_or_compute(const K& key, F&& compute) {
    LASTREF_TRY(name, CachedType<K>::bytes_of(key));
    LASTREF_TRY(found, find(name));
    if (found) {
      return *std::move(found);
    }
    std::unique_ptr<cache::Claim> claim;
    if (!store_->options().is_frozen) {
      LASTREF_TRY(claimed, store_->claim(name));
      claim = std::move(claimed);
      LASTREF_TRY(found_now, find(name));
      if (found_now) {
        return *std::move(found_now);
      }
    }
    LASTREF_TRY(value, Result<V>(std::invoke(std::forward<F>(compute))));
    if (claim != nullptr) {
      LASTREF_TRY(bytes, Type::bytes_of(value));
      LASTREF_TRY(kept, store_->store(*claim, name, bytes));
      if (kept.entry) {
        return Type::view(kept.entry->value, kept.entry->keeper);
      }
    }
    return Type::hold(std::move(value));
  }

  /// Removes the entry. Views of it stay valid. Returns false if there was none.
  ///
  /// Errors          of system calls.
  Result<bool> erase(const K& key) {
    LASTREF_TRY(name, CachedType<K>::bytes_of(key));
    return store_->erase(name);
  }

  /// Adds all entries to the cache of another name, and returns how many it had not. If that fails
  /// or the process is killed, call it again.
  ///
  /// Errors          as open and put.
  Result<std::uint64_t> save(const std::string& name) { return store_->save(name); }

  /// Number of entries. After an error, the last known number.
  std::size_t size() const noexcept { return static_cast<std::size_t>(store_->count()); }
  bool empty() const noexcept { return size() == 0; }
  /// Bytes of all entries. After an error, the last known number.
  std::uint64_t size_bytes() const noexcept { return store_->size(); }
  /// The path of its folder.
  const std::string& folder() const noexcept { return store_->folder(); }
  const CacheOptions& options() const noexcept { return store_->options(); }

  /// Visits the entries that exist when it begins, in an arbitrary order, except those that are
  /// removed meanwhile. An entry that cannot be read is left out; the error is reported on standard
  /// error.
  class Iterator;
  Iterator begin() const { return Iterator(store_); }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  friend struct Codec<Cache>;
  explicit Cache(std::shared_ptr<cache::EntryStore> store) noexcept : store_(std::move(store)) {}

  /// A value that cannot be decoded counts as absent.
  Result<std::optional<View>> find(os::Bytes name) {
    LASTREF_TRY(entry, store_->find(name));
    if (!entry) {
      return std::optional<View>();
    }
    auto view = Type::view(entry->value, std::move(entry->keeper));
    if (failed_with(view, std::errc::bad_message)) {
      return std::optional<View>();
    }
    LASTREF_TRY(valid, std::move(view));
    return std::optional<View>(std::move(valid));
  }

  std::shared_ptr<cache::EntryStore> store_;
};

template <typename K, typename V>
class Cache<K, V>::Iterator {
 public:
  using value_type = std::pair<K, View>;
  using difference_type = std::ptrdiff_t;

  Iterator() = default;
  explicit Iterator(std::shared_ptr<cache::EntryStore> store) : store_(std::move(store)) {
    auto names = result_within_memory("entries", [&]() -> Result<Names> {
      LASTREF_TRY(all, store_->names());
      return std::make_shared<const std::vector<std::string>>(std::move(all));
    });
    if (names) {
      names_ = *std::move(names);
      ++*this;
    } else {
      store_->report(names.error());
    }
  }

  const value_type& operator*() const noexcept { return *current_; }
  const value_type* operator->() const noexcept { return &*current_; }
  Iterator& operator++() {
    current_.reset();
    while (!current_ && next_ < names_->size()) {
      auto read = result_within_memory("an entry", [&] { return entry_at(next_++); });
      if (!read) {
        store_->report(read.error());
      } else {
        current_ = *std::move(read);
      }
    }
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t /*end*/) const noexcept { return !current_; }

 private:
  using Names = std::shared_ptr<const std::vector<std::string>>;

  Result<std::optional<value_type>> entry_at(std::size_t index) {
    LASTREF_TRY(entry, store_->entry_named((*names_)[index]));
    if (!entry) {
      return std::optional<value_type>();
    }
    LASTREF_TRY(key, CachedType<K>::copy(entry->key));
    LASTREF_TRY(value, Type::view(entry->value, std::move(entry->keeper)));
    return std::optional<value_type>(std::in_place, std::move(key), std::move(value));
  }

  std::shared_ptr<cache::EntryStore> store_;
  Names names_;
  std::size_t next_ = 0;
  std::optional<value_type> current_;
};

/// A cache travels as its folder and options. A worker opens it once.
template <typename K, typename V>
inline constexpr bool is_handle<Cache<K, V>> = true;

template <typename K, typename V>
struct Codec<Cache<K, V>> {
  static void write(Writer& to, const Cache<K, V>& cache) {
    const CacheOptions& options = cache.options();
    to.write(cache.folder(),
             options.size_limit,
             options.when_full,
             options.is_frozen,
             options.is_durable);
  }
  static Result<Cache<K, V>> read(Reader& from) {
    CacheOptions options;
    LASTREF_TRY(folder, from.read<std::string>());
    LASTREF_TRY(size_limit, from.read<std::uint64_t>());
    LASTREF_TRY(when_full, from.read<WhenFull>());
    LASTREF_TRY(is_frozen, from.read<bool>());
    LASTREF_TRY(is_durable, from.read<bool>());
    options = {.size_limit = size_limit,
               .when_full = when_full,
               .is_frozen = is_frozen,
               .is_durable = is_durable};
    LASTREF_TRY(store, cache::EntryStore::open_once(folder, options, cache::format_of<K, V>()));
    return Cache<K, V>(std::move(store));
  }
};

}  // namespace lastref
