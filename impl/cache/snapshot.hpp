// Snapshot: what a cache had when it was preserved. A file in pfio's format.
//
// Layout, in the byte order of the machine: for each slot `uint64 offset, int64 size`, where an
// empty one has (0, -1); then the values. There is no head and no length: who loads it has to know
// how many slots it has.
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

/// All methods may be called from any thread.
class Snapshot {
 public:
  /// Reads the entries, checks each against the size of the file, and maps the values. What is
  /// written to the file later changes values, but no entry.
  ///
  /// Errors          bad_message, with the reason as subject; what status, read_at and map said.
  static Result<std::unique_ptr<Snapshot>> load(os::Os& os,
                                                os::UniqueFd file,
                                                std::uint64_t length);

  /// `slot` is below the length. None if it is empty. No error, but as a live file has them.
  Result<std::optional<os::Bytes>> find(std::uint64_t slot) const noexcept;
  Result<std::optional<CachedBytes>> view(std::uint64_t slot) const;
  /// The value, read from the file.
  ///
  /// Errors          bad_message: it is not all there; not_enough_memory; what read_at said.
  Result<std::optional<std::vector<std::byte>>> read(std::uint64_t slot) const;

 private:
  Snapshot(os::Os& os, os::UniqueFd file) : os_(os), file_(std::move(file)) {}

  os::Os& os_;
  os::UniqueFd file_;
  std::vector<Entry> entries_;
  std::shared_ptr<const os::UniqueMap> map_;  // of the whole file, if it has values
};

}  // namespace lastref::cache
