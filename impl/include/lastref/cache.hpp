// cache: numbered slots of bytes, each written once and then read by many.
//
// Three of them with one interface. MultiprocessFileCache is a file that any number of processes
// and threads put into and get from at the same time; a file cache is a file of one process; a
// naive cache is memory. What one of them preserves, each of them loads.
//
// What a newcomer would get wrong:
// - A value stays what it is: `put` into a slot that has one is `false`, and no error. An empty
//   value is a value.
// - A cache that is full, preserved or preloaded is frozen: `put` is `false` from then on, for
//   every process, and `get` goes on.
// - The file of a cache goes with the cache that made it, in the process that made it. Those who
//   have attached it, or were forked, keep what they have mapped and no name. What a process that
//   was killed has left, and no tracker knows of any more, the next cache in that folder removes.
// - To destroy a cache is to wait for the calls of other threads that are in it.
// - In a forked child the cache of one process, if it is a file or for threads, is good for nothing
//   but to be destroyed; a MultiprocessFileCache goes on.
// - No lock is taken by put or get of a MultiprocessFileCache, so nobody waits for a process that
//   is stopped, and nothing has to be recovered from one that was killed.
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

/// A value where it lies; it stays there as long as the keeper does, also when the cache is closed.
/// The Os outlives it.
struct CachedBytes {
  os::Bytes bytes;
  std::shared_ptr<const void> keeper;
};

struct CacheOptions {
  /// Where files go, made if it is not there; by default $XDG_CACHE_HOME/lastref, else
  /// ~/.cache/lastref. A relative one is looked up when the cache is made.
  std::optional<std::string> folder = {};
  /// bytes; values that would make the file longer freeze the cache. What was not stored does not
  /// count, though it may take space. 0 is no limit.
  std::int64_t size_limit = 0;
  /// When `put` or `preserve` returns, all of it is on its device; a value is so before anybody
  /// sees it.
  bool is_durable = false;
  /// Of a FileCache or NaiveCache: any thread may call. The other one is always so.
  bool is_thread_safe = false;
  /// Says on standard error which files are made, preserved and loaded.
  bool is_verbose = false;
};

/// What the three have in common. Slots are numbered from 0.
class Cache {
 public:
  Cache() = default;
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  /// Closes.
  virtual ~Cache() = default;

  /// True if the value is in its slot now. False if the slot has one, or the cache is frozen or
  /// closed, or there is no space: of that one warning is said, and nothing has changed.
  ///
  /// Errors          result_out_of_range; operation_not_permitted: in a forked child, see above;
  ///                 bad_message: an outsider has written to the file; what writing said: nothing
  ///                 has changed. In a durable cache also what syncing said: the value may be
  ///                 there, and may not survive.
  virtual Result<bool> put(std::uint64_t slot, os::Bytes value) = 0;

  /// A copy of the value; none if the slot is empty or the cache is closed.
  ///
  /// Errors          result_out_of_range; operation_not_permitted: in a forked child, see above;
  ///                 bad_message: an outsider has written to the file; what mapping or reading
  ///                 said.
  virtual Result<std::optional<std::vector<std::byte>>> get(std::uint64_t slot) = 0;

  /// The value itself, if it lies in memory or a map; else a copy.
  ///
  /// Errors          as get.
  virtual Result<std::optional<CachedBytes>> view(std::uint64_t slot) = 0;

  /// As get, but survives that an outsider makes the file shorter: every byte is read, none is
  /// touched in a map.
  ///
  /// Errors          as get; bad_message, if the value is not all there.
  virtual Result<std::optional<std::vector<std::byte>>> get_checked(std::uint64_t slot) = 0;

  /// Freezes the cache and writes what it has to `name` in its folder, in pfio's format: at every
  /// instant the name is what it was, or the whole. False if there is something of that name and
  /// not `overwrite` (if it is there from the start, the cache goes on), or the cache is closed.
  ///
  /// Errors          operation_not_permitted: not in the process that made the cache;
  ///                 invalid_argument: no name of a file; filename_too_long; not_supported: the
  ///                 file system can give a file no name without replacing another, and the cache
  ///                 goes on; what writing said: nothing of it is left, and the cache is frozen. In
  ///                 a durable cache also what syncing the folder said: it is there, and its name
  ///                 may not survive.
  /// Source          pfio multiprocess_file_cache.py, preserve.
  virtual Result<bool> preserve(const std::string& name, bool overwrite) = 0;

  /// From now on the cache is what was preserved as `name` in its folder, and frozen. False if it
  /// was frozen already, is closed, or there is no such file.
  ///
  /// Errors          operation_not_permitted, invalid_argument, as preserve; bad_message, with the
  ///                 reason as subject: no preserved cache of that length. The cache goes on.
  /// Source          pfio multiprocess_file_cache.py, preload.
  virtual Result<bool> preload(const std::string& name) = 0;

  /// Ends it; twice is once. Who made the file removes it.
  ///
  /// Errors          what removing the file said: it is left to the tracker.
  virtual Status close() = 0;

  /// How many slots.
  virtual std::uint64_t size() const noexcept = 0;
  virtual bool is_multiprocess_safe() const noexcept = 0;
  virtual bool is_multithread_safe() const noexcept = 0;
};

/// One file, any number of processes and threads; no lock.
///
/// Values are written behind each other; a slot is one word that says where its value lies, 0 as
/// long as there is none. `put` takes space (by moving the end), writes the value there, and then
/// stores the offset in the slot by one compare-and-exchange. So at whichever moment a process is
/// killed, a slot has no value or the whole of it; what it had not published is dead space. Whoever
/// reads finds the offset in the slot, and the value in a map: no system call once it is mapped.
///
/// On a file system where a store may need new space (btrfs, overlays and all but tmpfs, ext and
/// xfs) the slots, 8 bytes each, are in a file of their own in /dev/shm, /tmp or /var/tmp: so none
/// raises SIGBUS because there is no space.
///
/// Limits          A file that an outsider makes shorter raises SIGBUS in get and view; see
///                 get_checked. Dead space is given back as far as the file system can make holes.
/// Source          pfio multiprocess_file_cache.py.
class MultiprocessFileCache : public Cache {
 public:
  /// Makes the file: 0600, its name counted before it is there, so that it goes whatever becomes of
  /// this process.
  ///
  /// Errors          invalid_argument: a length that is not positive, a negative limit;
  ///                 value_too_large: more than 2^28 slots, for their 2 GiB are written now;
  ///                 filename_too_long, with the limit; not_supported: the folder is on a network,
  ///                 or on a file system where stores may need space, and so are all others where
  ///                 slots may be (/dev/shm, /tmp, /var/tmp); permission_denied: others may put
  ///                 their own files in place of those in the folder; what the tracker's client or
  ///                 a call said. Nothing stays.
  static Result<std::unique_ptr<MultiprocessFileCache>> make(os::Os& os,
                                                             std::shared_ptr<References> references,
                                                             std::int64_t length,
                                                             CacheOptions options = {});

  /// The cache of another process, with its limit and durability. It never removes the file, and
  /// neither preserves nor preloads.
  ///
  /// Errors          invalid_argument: no handle; no_such_file_or_directory: it has gone;
  ///                 permission_denied: somebody else's file; bad_message: it is another file, or
  ///                 an outsider has written to it.
  static Result<std::unique_ptr<MultiprocessFileCache>> attach(os::Os& os,
                                                               const std::string& handle);

  /// What another process needs to attach. Empty if the cache is closed, or there is no memory.
  virtual std::string handle() const = 0;
};

/// A file of one process, which has no name any more when this returns.
///
/// Errors            as MultiprocessFileCache::make.
/// Source            pfio file_cache.py.
Result<std::unique_ptr<Cache>> make_file_cache(os::Os& os,
                                               std::shared_ptr<References> references,
                                               std::int64_t length,
                                               const CacheOptions& options = {});

/// Memory of one process. Only what it preserves needs the folder, and it is looked for then.
///
/// Errors            invalid_argument; value_too_large; not_enough_memory.
/// Source            pfio naive_cache.py.
Result<std::unique_ptr<Cache>> make_naive_cache(os::Os& os,
                                                std::shared_ptr<References> references,
                                                std::int64_t length,
                                                const CacheOptions& options = {});

/// How values of a type become bytes, and back.
template <typename T>
struct ValueCodec {
  std::function<Result<std::vector<std::byte>>(const T&)> encode;
  std::function<Result<T>(os::Bytes)> decode;
};

/// A cache of values of one type.
template <typename T>
class CodedCache {
 public:
  /// The cache outlives it.
  CodedCache(Cache& cache, ValueCodec<T> codec) : cache_(cache), codec_(std::move(codec)) {}

  /// Errors          what encode and Cache::put say.
  Result<bool> put(std::uint64_t slot, const T& value) {
    LASTREF_TRY(bytes, codec_.encode(value));
    return cache_.put(slot, bytes);
  }

  /// Errors          what Cache::view and decode say.
  Result<std::optional<T>> get(std::uint64_t slot) {
    LASTREF_TRY(found, cache_.view(slot));
    if (!found) {
      return std::optional<T>();
    }
    LASTREF_TRY(value, codec_.decode(found->bytes));
    return std::optional<T>(std::move(value));
  }

 private:
  Cache& cache_;
  ValueCodec<T> codec_;
};

}  // namespace lastref
