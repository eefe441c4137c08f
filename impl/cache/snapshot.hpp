// Snapshot: what a cache had when it was preserved. A file in pfio's format.
//
// Layout, in the byte order of the machine: for each slot `uint64 offset, int64 size`, where an
// empty one has (0, -1); then the values. There is no head and no length: who loads it has to know
// how many slots it has. One value begins right behind the entries, by which another number is
// noticed: pfio never removes an entry, and writes the first value there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <lastref/cache.hpp>
#include <lastref/os.hpp>
#include <lastref/owners.hpp>

namespace lastref::cache {

/// Where the value of a slot is, as the file has it.
struct Entry {
  std::uint64_t offset = 0;
  std::int64_t size = -1;
};

/// The value of a slot, as long as nobody asks for the next; none if it is empty.
using ValueOf = std::function<Result<std::optional<os::Bytes>>(std::uint64_t slot)>;

/// Writes all of it to a new file that is open.
///
/// Errors          value_too_large: more than a file can have; what value_of and write said.
Status write_snapshot(os::Os& os, os::Fd file, std::uint64_t length, const ValueOf& value_of);

/// When the entries of a file are checked.
enum class Check : std::uint8_t {
  all,      ///< Each is read before it is loaded, and each again when it is used.
  as_used,  ///< Only then: of a file that was checked by who loaded it, or by nobody yet.
};

/// All methods may be called from any thread. Entries and values lie in one map: a process that has
/// loaded one has no memory of its own for it, however many slots there are.
class Snapshot {
 public:
  /// Checks each entry against the size of the file, and their number against where the first value
  /// begins, if it is told to, and maps the file. What is written to it later changes it; no entry
  /// is trusted.
  ///
  /// Errors          bad_message, with the reason as subject; what status, read_at and map said.
  static Result<std::unique_ptr<Snapshot>> load(os::Os& os,
                                                os::UniqueFd file,
                                                std::uint64_t length,
                                                Check check = Check::all);

  /// `slot` is below the length. None if it is empty.
  ///
  /// Errors          bad_message: the entry points elsewhere.
  Result<std::optional<os::Bytes>> find(std::uint64_t slot) const;
  Result<std::optional<CachedBytes>> view(std::uint64_t slot) const;
  /// The value, read from the file.
  ///
  /// Errors          as find, also if it is not all there; not_enough_memory; what read_at said.
  Result<std::optional<std::vector<std::byte>>> read(std::uint64_t slot) const;

 private:
  Snapshot(os::Os& os, os::UniqueFd file, std::uint64_t length, std::uint64_t size)
      : os_(os), file_(std::move(file)), length_(length), size_(size) {}

  Status check(std::uint64_t slot, const Entry& entry) const;
  Status check_all() const;

  os::Os& os_;
  os::UniqueFd file_;
  std::uint64_t length_;
  std::uint64_t size_;                        // of the file, when it was loaded
  std::shared_ptr<const os::UniqueMap> map_;  // of all of that
};

}  // namespace lastref::cache
