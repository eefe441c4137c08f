// entry_file: the file of one entry of a cache.
//
// Layout: a head of 32 bytes, the key, zeros up to a multiple of 64 bytes, and the value. Nothing
// in a file is trusted: its length has to be that of the sizes in its head. Of an entry that other
// processes can see, only the number of its last use changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <lastref/cache.hpp>
#include <lastref/owners.hpp>

namespace lastref::cache {

struct EntryHead {
  static constexpr std::uint64_t valid_magic = 0x31'79'72'74'6e'65'72'6c;  // "lrentry1"

  std::uint64_t magic = valid_magic;
  std::uint64_t key_size = 0;    // bytes
  std::uint64_t value_size = 0;  // bytes
  std::uint64_t last_use = 0;    // the number of values that had been stored in the cache
};

/// Two independent numbers of a key.
struct KeyHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

KeyHash hash_of(os::Bytes key) noexcept;

/// 32 hexadecimal digits.
std::string entry_name(const KeyHash& hash);
/// The inverse; none if it is not such a name.
std::optional<KeyHash> hash_named(std::string_view name) noexcept;

/// Bytes of the file of an entry.
std::uint64_t entry_size(std::uint64_t key_size, std::uint64_t value_size) noexcept;

/// Writes an entry to an open new file.
///
/// Errors          of write; not_enough_memory.
Status write_entry(os::Os& os, os::Fd file, std::uint64_t use, os::Bytes key, os::Bytes value);

/// An entry, and its last use.
struct MappedEntry {
  EntryBytes bytes;
  std::uint64_t last_use = 0;
};

/// Maps the entry in an open file; none if it has no valid entry.
///
/// Errors          of status and map.
Result<std::optional<MappedEntry>> map_entry(os::Os& os, os::Fd file);

/// Whether an open file begins as an entry does.
///
/// Errors          of read.
Result<bool> has_entry(os::Os& os, os::Fd file);

/// Reads the last use of the entry in an open file; 0 if it has no entry.
///
/// Errors          of read_at.
Result<std::uint64_t> read_last_use(os::Os& os, os::Fd file);

/// Errors          of write_at.
Status write_last_use(os::Os& os, os::Fd file, std::uint64_t use) noexcept;

}  // namespace lastref::cache
