#include "impl/cache/entry_index.hpp"

#include <cstddef>
#include <span>

#include <lastref/owners.hpp>

#include "impl/os/with_path.hpp"

namespace lastref::cache {

Result<std::optional<EntryIndex>> read_index(os::Os& os, os::Fd file, const std::string& path) {
  EntryIndex index;
  const auto bytes = std::as_writable_bytes(std::span(&index, 1));
  LASTREF_TRY(size, os::with_path(path, os::read_until_full_at(os, file, bytes, 0)));
  if (size < sizeof(index)) {
    return std::optional<EntryIndex>();  // The process that began to write it was killed.
  }
  if (index.magic != EntryIndex::valid_magic) {
    return failure(std::errc::bad_message,
                   path + " (not the index of a cache; if it is damaged, remove it: entries stay)");
  }
  return index;
}

Status write_index(os::Os& os, os::Fd file, EntryIndex index) noexcept {
  index.is_clean = 1;
  return os::write_all_at(os, file, std::as_bytes(std::span(&index, 1)), 0);
}

Status mark_unclean(os::Os& os, os::Fd file) noexcept {
  const std::uint64_t unclean = 0;
  return os::write_all_at(
      os, file, std::as_bytes(std::span(&unclean, 1)), offsetof(EntryIndex, is_clean));
}

}  // namespace lastref::cache
