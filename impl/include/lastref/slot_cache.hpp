// slot_cache: numbered slots of bytes, each written once and then read by many.
//
// There are three kinds with one interface. MultiprocessFileCache is a file that any number of
// processes and threads put into and get from at the same time. A file cache is a file of one
// process. A naive cache is memory. Each kind can load what any other kind has preserved.
//
// Pitfalls:
// - A value never changes: `put` into a slot that has a value returns `false`, which is no error.
//   An empty value is a value.
// - A cache that is full, preserved or preloaded is frozen: from then on `put` returns `false` in
//   every process, and `get` still works.
// - The file of a cache is removed with the cache that created it, in the process that created it.
//   Processes that have attached the cache, and forked children, keep what they have mapped, but no
//   name. If a process was killed and no tracker knows its leftovers any more, the next cache in
//   that folder removes them.
// - The destructor of a cache waits for calls of other threads that are running in it.
// - In a forked child, the cache of one process may only be destroyed if it is a file or
//   thread-safe; a MultiprocessFileCache still works.
// - put and get of a MultiprocessFileCache take no lock. So no process waits for one that is
//   stopped, and nothing has to be recovered from one that was killed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lastref/error.hpp>
#include <lastref/os.hpp>
#include <lastref/references.hpp>

namespace lastref {

/// A value in its place. It stays there while the keeper exists, even when the cache is closed. The
/// Os outlives it.
struct CachedBytes {
  os::Bytes bytes;
  std::shared_ptr<const void> keeper;
};

struct SlotCacheOptions {
  /// Folder of the files, created if it does not exist. Default: $XDG_CACHE_HOME/lastref, else
  /// ~/.cache/lastref. A relative path is resolved when the cache is created.
  std::optional<std::string> folder = {};
  /// bytes; a value that would make the file longer freezes the cache. Values that were not stored
  /// do not count, though they may take space. 0: no limit.
  std::int64_t size_limit = 0;
  /// When `put` or `preserve` returns, everything that it wrote is on its device. A value is there
  /// before any process can see it.
  bool is_durable = false;
  /// For a file cache or naive cache: any thread may call. Always so for a MultiprocessFileCache.
  bool is_thread_safe = false;
  /// Reports on standard error which files are created, preserved and loaded.
  bool is_verbose = false;
};

/// Interface of the three kinds of cache. Slots are numbered from 0.
class SlotCache {
 public:
  SlotCache() = default;
  SlotCache(const SlotCache&) = delete;
  SlotCache& operator=(const SlotCache&) = delete;
  /// Closes the cache.
  virtual ~SlotCache() = default;

  /// Stores a value. Returns true if the value is now in its slot. Returns false if the slot has a
  /// value, the cache is frozen or closed, or there is no space. Lack of space is reported once per
  /// cache as a warning, and changes nothing.
  ///
  /// Errors          result_out_of_range; operation_not_permitted: in a forked child, see above;
  ///                 bad_message: an outsider has written to the file; errors of writing: nothing
  ///                 has changed. In a durable cache also errors of syncing: the value may be
  ///                 stored, but may not survive.
  virtual Result<bool> put(std::uint64_t slot, os::Bytes value) = 0;

  /// Returns a copy of the value; none if the slot is empty or the cache is closed.
  ///
  /// Errors          result_out_of_range; operation_not_permitted: in a forked child, see above;
  ///                 bad_message: an outsider has written to the file; errors of mapping or
  ///                 reading.
  virtual Result<std::optional<std::vector<std::byte>>> get(std::uint64_t slot) = 0;

  /// Returns the value itself if it is in memory or in a map, otherwise a copy.
  ///
  /// Errors          as get.
  virtual Result<std::optional<CachedBytes>> view(std::uint64_t slot) = 0;

  /// As get, but survives truncation by another process: every byte is read from the file, and no
  /// map is accessed.
  ///
  /// Errors          as get; bad_message: the value is incomplete.
  virtual Result<std::optional<std::vector<std::byte>>> get_checked(std::uint64_t slot) = 0;

  /// Freezes the cache and writes its contents to `name` in its folder, in pfio's format. At every
  /// instant the name refers to what it was before or to the complete file. Returns false if the
  /// cache is closed, or if the name exists and `overwrite` is false. If the name exists when the
  /// call begins, that does not freeze the cache.
  ///
  /// Errors          operation_not_permitted: not in the process that created the cache;
  ///                 invalid_argument: not a file name; filename_too_long; not_supported: the file
  ///                 system cannot name a file without replacing another one; the cache is not
  ///                 frozen; errors of writing: no part of the file remains, and the cache is
  ///                 frozen. In a durable cache also errors of syncing the folder: the file exists,
  ///                 but its name may not survive.
  /// Source          pfio multiprocess_file_cache.py, preserve.
  virtual Result<bool> preserve(const std::string& name, bool overwrite) = 0;

  /// Replaces the contents by those preserved as `name` in its folder, and freezes the cache.
  /// Returns false if the cache was already frozen, is closed, or there is no such file.
  ///
  /// Errors          operation_not_permitted, invalid_argument, as preserve; bad_message, with the
  ///                 reason as subject: not a preserved cache of that length. The cache continues.
  /// Source          pfio multiprocess_file_cache.py, preload.
  virtual Result<bool> preload(const std::string& name) = 0;

  /// Closes the cache; a second call does nothing. The cache that created the file removes it.
  ///
  /// Errors          those of removing the file: it is left to the tracker.
  virtual Status close() = 0;

  /// Number of slots.
  virtual std::uint64_t size() const noexcept = 0;
  virtual bool is_multiprocess_safe() const noexcept = 0;
  virtual bool is_multithread_safe() const noexcept = 0;
};

/// One file for any number of processes and threads, without a lock.
///
/// Values are written one after the other. A slot is one 8-byte word with the offset of its value,
/// or 0 if there is none. `put` reserves space by moving the end, writes the value there, and then
/// stores the offset in the slot by one compare-and-exchange. So whenever a process is killed, each
/// slot has no value or a complete one; what the process had not published is dead space. A reader
/// takes the offset from the slot and the value from a map: no system call once it is mapped.
///
/// On a file system where a store may need new space (btrfs, overlays and all except tmpfs, ext and
/// xfs), the slots, 8 bytes each, are in a file of their own in /dev/shm, /tmp or /var/tmp. So no
/// store to a slot raises SIGBUS for lack of space.
///
/// Limits          If an outsider truncates the file, get and view raise SIGBUS; see get_checked.
///                 Dead space is freed as far as the file system can punch holes.
/// Source          pfio multiprocess_file_cache.py.
class MultiprocessFileCache : public SlotCache {
 public:
  /// Creates the file with mode 0600. Its name is counted before the file exists, so it is removed
  /// whatever happens to this process.
  ///
  /// Errors          invalid_argument: a length that is not positive, a negative limit;
  ///                 value_too_large: more than 2^28 slots, because their 2 GiB are written now;
  ///                 filename_too_long, with the limit; not_supported: the folder is on a network,
  ///                 or on a file system where stores may need space, and so are all others where
  ///                 slots may be (/dev/shm, /tmp, /var/tmp); permission_denied: other users could
  ///                 replace the files in the folder by their own; errors of the tracker's client
  ///                 and of system calls. Nothing remains.
  static Result<std::unique_ptr<MultiprocessFileCache>> make(os::Os& os,
                                                             std::shared_ptr<References> references,
                                                             std::int64_t length,
                                                             SlotCacheOptions options = {});

  /// Opens the cache of another process, with its limit and durability. The attached cache never
  /// removes the file, and can neither preserve nor preload.
  ///
  /// Errors          invalid_argument: not a handle; no_such_file_or_directory: the file was
  ///                 removed; permission_denied: another user's file; bad_message: it is another
  ///                 file, or an outsider has written to it.
  static Result<std::unique_ptr<MultiprocessFileCache>> attach(os::Os& os,
                                                               const std::string& handle);

  /// Returns what another process needs to attach. Empty if the cache is closed or memory is short.
  virtual std::string handle() const = 0;
};

/// Creates a cache in a file of one process. The file has no name any more when this returns.
///
/// Errors            as MultiprocessFileCache::make.
/// Source            pfio file_cache.py.
Result<std::unique_ptr<SlotCache>> make_file_cache(os::Os& os,
                                                   std::shared_ptr<References> references,
                                                   std::int64_t length,
                                                   const SlotCacheOptions& options = {});

/// Creates a cache in memory of one process. Only `preserve` and `preload` use the folder, which is
/// resolved then.
///
/// Errors            invalid_argument; value_too_large; not_enough_memory.
/// Source            pfio naive_cache.py.
Result<std::unique_ptr<SlotCache>> make_naive_cache(os::Os& os,
                                                    std::shared_ptr<References> references,
                                                    std::int64_t length,
                                                    const SlotCacheOptions& options = {});

/// Converts values of a type to bytes and back.
template <typename T>
struct ValueCodec {
  std::function<Result<std::vector<std::byte>>(const T&)> encode;
  std::function<Result<T>(os::Bytes)> decode;
};

/// A cache of values of one type.
template <typename T>
class CodedCache {
 public:
  /// The cache must outlive the CodedCache.
  CodedCache(SlotCache& cache, ValueCodec<T> codec) : cache_(cache), codec_(std::move(codec)) {}

  /// Errors          those of encode and SlotCache::put.
  Result<bool> put(std::uint64_t slot, const T& value) {
    LASTREF_TRY(bytes, codec_.encode(value));
    return cache_.put(slot, bytes);
  }

  /// Errors          those of SlotCache::view and decode.
  Result<std::optional<T>> get(std::uint64_t slot) {
    LASTREF_TRY(found, cache_.view(slot));
    if (!found) {
      return std::optional<T>();
    }
    LASTREF_TRY(value, codec_.decode(found->bytes));
    return std::optional<T>(std::move(value));
  }

 private:
  SlotCache& cache_;
  ValueCodec<T> codec_;
};

}  // namespace lastref
