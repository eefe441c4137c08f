// entry_index: how many entries a cache has, in a file that is also its locks.
//
// The numbers are changed only under a lock, which the process that changes an entry's name holds
// too. Before that, the file is marked as unclean; after it, the new numbers are written, the mark
// last. So if a process is killed or fails in between, the next process counts the entries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lastref/error.hpp>
#include <lastref/os.hpp>

namespace lastref::cache {

struct EntryIndex {
  static constexpr std::uint64_t valid_magic = 0x31'78'65'64'6e'69'72'6c;  // "lrindex1"

  std::uint64_t magic = valid_magic;
  std::uint64_t format = 0;  // see cache::format_of; 0: not known
  std::uint64_t count = 0;
  std::uint64_t size = 0;    // bytes of all entries
  std::uint64_t stores = 0;  // number of values that were ever stored
  std::uint64_t is_clean = 0;
};

/// Returns none if the file has no complete index yet.
///
/// Errors          bad_message: it is another file; of read_at.
Result<std::optional<EntryIndex>> read_index(os::Os& os, os::Fd file, const std::string& path);

/// Errors          of write_at: the index may be unclean.
Status write_index(os::Os& os, os::Fd file, EntryIndex index) noexcept;

/// Errors          of write_at: nothing has changed.
Status mark_unclean(os::Os& os, os::Fd file) noexcept;

}  // namespace lastref::cache
