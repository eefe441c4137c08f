// OurCache, PlainFile, Lmdb: stores of values in numbered slots, which cache_bench compares.
//
// A method processes all slots of a list. It returns false if one slot was not as expected, so that
// no store is measured doing nothing. All values have the same size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <lastref/slot_cache.hpp>

#include "bench/shm_folder.hpp"

struct MDB_env;
struct MDB_txn;

namespace lastref::bench {

/// The contents of a cache.
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
  /// Copies values into new memory.
  bool copy_all(Slots slots);
  bool check_all(Slots slots);
  /// Finds each value and copies it to the same buffer.
  bool read_views(Slots slots);
  bool find_all(Slots slots);
  void in_a_child() noexcept {}

 private:
  std::vector<std::byte> value_;
  std::unique_ptr<MultiprocessFileCache> cache_;
};

/// Consecutive values in a file, at offsets computed from the slot.
class PlainFile {
 public:
  PlainFile(const ShmFolder& folder, Load load);
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;
  ~PlainFile();

  /// One pwrite() per value.
  bool put_all(Slots slots);
  /// One pread() per value: read_all reads into the same buffer, copy_all into new memory.
  bool read_all(Slots slots);
  bool copy_all(Slots slots);
  /// Copies from a mapping to the same buffer.
  bool read_mapped(Slots slots);
  void in_a_child() noexcept {}

 private:
  std::vector<std::byte> value_;
  std::size_t map_size_;
  int fd_;
  const std::byte* map_ = nullptr;
};

/// LMDB without syncs. A put does not overwrite an existing value.
class Lmdb {
 public:
  Lmdb(const ShmFolder& folder, Load load);
  Lmdb(const Lmdb&) = delete;
  Lmdb& operator=(const Lmdb&) = delete;
  ~Lmdb();

  /// One transaction per value, or per thousand values.
  bool put_all(Slots slots);
  bool put_in_batches(Slots slots);
  /// Each value is read from the newest state.
  bool copy_all(Slots slots);
  bool read_views(Slots slots);
  bool find_all(Slots slots);
  /// Reopens the environment, because one that was opened before a fork cannot be used after it.
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
