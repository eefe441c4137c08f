// Snapshot: the contents of a cache when it was preserved, in a file in pfio's format.
//
// Layout, in the byte order of the machine: for each slot `uint64 offset, int64 size`, where an
// empty slot has (0, -1); then the values. There is no head and no length: the program that loads
// it has to know the number of slots. A wrong number is detected because pfio never removes an
// entry, and writes the first value directly after the entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <lastref/os.hpp>
#include <lastref/owners.hpp>
#include <lastref/slot_cache.hpp>

namespace lastref::cache {

/// The position of a slot's value, in the format of the file.
struct SnapshotEntry {
  std::uint64_t offset = 0;
  std::int64_t size = -1;
};

/// The value of a slot, valid until the next call; none if it is empty.
using ValueOf = std::function<Result<std::optional<os::Bytes>>(std::uint64_t slot)>;

/// Writes the whole snapshot to an open new file.
///
/// Errors          value_too_large: more than a file can have; of value_of and write.
Status write_snapshot(os::Os& os, os::Fd file, std::uint64_t length, const ValueOf& value_of);

/// When the entries of a file are checked.
enum class Check : std::uint8_t {
  all,      ///< All entries are checked at loading, and each again when it is used.
  as_used,  ///< Only when used: the process that loaded it has checked it, or none has yet.
};

/// All methods may be called from any thread. Entries and values are in one map: a process that has
/// loaded one needs no memory of its own for it, however many slots there are.
class Snapshot {
 public:
  /// Maps the file. With Check::all, it first checks each entry against the size of the file, and
  /// their number against the start of the first value. Later writes to the file change the
  /// snapshot; no entry is trusted.
  ///
  /// Errors          bad_message, with the reason as subject; of status, read_at and map.
  static Result<std::unique_ptr<Snapshot>> load(os::Os& os,
                                                os::UniqueFd file,
                                                std::uint64_t length,
                                                Check check = Check::all);

  /// `slot` is less than the length. None if it is empty.
  ///
  /// Errors          bad_message: the entry points elsewhere.
  Result<std::optional<os::Bytes>> find(std::uint64_t slot) const;
  Result<std::optional<CachedBytes>> view(std::uint64_t slot) const;
  /// The value, read from the file.
  ///
  /// Errors          as find, also if it is incomplete; not_enough_memory; of read_at.
  Result<std::optional<std::vector<std::byte>>> read(std::uint64_t slot) const;

 private:
  Snapshot(os::Os& os, os::UniqueFd file, std::uint64_t length, std::uint64_t size)
      : os_(os), file_(std::move(file)), length_(length), size_(size) {}

  Status check(std::uint64_t slot, const SnapshotEntry& entry) const;
  Status check_all() const;

  os::Os& os_;
  os::UniqueFd file_;
  std::uint64_t length_;
  std::uint64_t size_;                        // of the file, when it was loaded
  std::shared_ptr<const os::UniqueMap> map_;  // of the whole file
};

}  // namespace lastref::cache
