// OurCache, PlainFile, Lmdb: keepers of values in numbered slots, asked the same by cache_bench.
//
// A method deals with all slots of a list, and is false if one of them was not as it should be, so
// that nobody is measured at doing nothing. All values are of one size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <lastref/cache.hpp>

#include "bench/shm_folder.hpp"

struct MDB_env;
struct MDB_txn;

namespace lastref::bench {

/// What lies in a cache.
struct Load {
  std::uint64_t slots = 0;
  std::size_t size = 0;  ///< bytes of each value
};

using Slots = std::span<const std::uint64_t>;

class OurCache {
 public:
  OurCache(os::Os& os,
           const std::shared_ptr<References>& references,
           const ShmFolder& folder,
           Load load);

  bool put_all(Slots slots);
  /// Copies in memory of the caller's.
  bool copy_all(Slots slots);
  bool check_all(Slots slots);
  /// Each is found, and then copied to one place.
  bool read_views(Slots slots);
  bool find_all(Slots slots);
  void in_a_child() noexcept {}

 private:
  std::vector<std::byte> value_;
  std::unique_ptr<MultiprocessFileCache> cache_;
};

/// Values side by side in a file, at places that follow from the slot.
class PlainFile {
 public:
  PlainFile(const ShmFolder& folder, Load load);
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;
  ~PlainFile();

  /// One pwrite() for each.
  bool put_all(Slots slots);
  /// One pread() for each, to one place, or into memory that is new for each.
  bool read_all(Slots slots);
  bool copy_all(Slots slots);
  /// Out of a map to one place.
  bool read_mapped(Slots slots);
  void in_a_child() noexcept {}

 private:
  std::vector<std::byte> value_;
  std::size_t map_size_;
  int fd_;
  const std::byte* map_ = nullptr;
};

/// Does not sync, and does not overwrite.
class Lmdb {
 public:
  Lmdb(const ShmFolder& folder, Load load);
  Lmdb(const Lmdb&) = delete;
  Lmdb& operator=(const Lmdb&) = delete;
  ~Lmdb();

  /// A transaction for each, or for a thousand.
  bool put_all(Slots slots);
  bool put_in_batches(Slots slots);
  /// A look at the newest state for each.
  bool copy_all(Slots slots);
  bool read_views(Slots slots);
  bool find_all(Slots slots);
  /// What was opened before a fork is of no use behind it.
  void in_a_child();

 private:
  template <typename Use>
  bool get_each(Slots slots, Use use);
  bool put_in(MDB_txn* transaction, Slots slots);
  bool put_by(std::size_t batch_size, Slots slots);
  void open();

  std::string path_;
  std::size_t map_size_;
  std::vector<std::byte> value_;
  MDB_env* environment_ = nullptr;
  MDB_txn* reader_ = nullptr;
  unsigned table_ = 0;
};

}  // namespace lastref::bench
