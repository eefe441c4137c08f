#include "impl/cache/snapshot.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <utility>

#include <lastref/probe.hpp>

#include "impl/cache/copy.hpp"
#include "impl/os/limits.hpp"
#include "impl/os/wire.hpp"

namespace lastref::cache {
namespace {

constexpr std::uint64_t entry_size = sizeof(SnapshotEntry);
static_assert(entry_size == 16);
constexpr std::uint64_t file_size_max = std::numeric_limits<std::int64_t>::max();

tl::unexpected<Error> malformed(std::string reason) {
  return failure(std::errc::bad_message, std::move(reason));
}

/// Collects the bytes in large pieces, and writes them one after the other.
class Pieces {
 public:
  Pieces(os::Os& os, os::Fd file, std::uint64_t at) noexcept
      : os_(os), piece_size_(os::limits_of(os).snapshot_piece), file_(file), at_(at) {}

  Status add(os::Bytes bytes) {
    if (bytes.size() >= piece_size_) {
      LASTREF_CHECK(flush());
      return write(bytes);
    }
    waiting_.reserve(piece_size_);  // If it grew by doubling, it would be copied as often.
    waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
    return waiting_.size() < piece_size_ ? ok() : flush();
  }

  Status flush() {
    LASTREF_CHECK(write(waiting_));
    waiting_.clear();
    return ok();
  }

 private:
  Status write(os::Bytes bytes) {
    LASTREF_CHECK(os::write_all_at(os_, file_, bytes, at_));
    at_ += bytes.size();
    return ok();
  }

  os::Os& os_;
  std::size_t piece_size_;
  os::Fd file_;
  std::uint64_t at_;
  os::Packed waiting_;
};

}  // namespace

Status write_snapshot(os::Os& os, os::Fd file, std::uint64_t length, const ValueOf& value_of) {
  std::uint64_t end = length * entry_size;
  LASTREF_TRY(entries, new_vector<SnapshotEntry>(static_cast<std::size_t>(length)));
  Pieces values(os, file, end);
  for (std::uint64_t slot = 0; slot < length; ++slot) {
    LASTREF_TRY(value, value_of(slot));
    if (!value) {
      continue;
    }
    if (value->size() > file_size_max - end) {
      return failure(std::errc::value_too_large, "more values than a file can have");
    }
    entries[slot] = {.offset = end, .size = static_cast<std::int64_t>(value->size())};
    LASTREF_CHECK(values.add(*value));
    end += value->size();
  }
  LASTREF_CHECK(values.flush());
  return os::write_all_at(os, file, std::as_bytes(std::span(entries)), 0);
}

Status Snapshot::check(std::uint64_t slot, const SnapshotEntry& entry) const {
  if (entry.size < 0) {
    return ok();
  }
  if (entry.offset < length_ * entry_size) {
    return malformed("slot " + std::to_string(slot) + " points into the entries");
  }
  if (entry.offset > size_ || static_cast<std::uint64_t>(entry.size) > size_ - entry.offset) {
    os_.hit(Probe::torn_entry_refused);
    return malformed("slot " + std::to_string(slot) + " points past the end of the file");
  }
  return ok();
}

/// Reads the file instead of a map, because another process may be truncating it.
Status Snapshot::check_all() const {
  const std::uint64_t entries_max = os::limits_of(os_).snapshot_piece / entry_size;
  std::vector<SnapshotEntry> piece(static_cast<std::size_t>(std::min(length_, entries_max)));
  std::uint64_t first_value = size_;
  for (std::uint64_t first = 0; first < length_; first += piece.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(piece.size(), length_ - first);
    const std::span<SnapshotEntry> entries =
        std::span(piece).first(static_cast<std::size_t>(count));
    LASTREF_TRY(size,
                os::read_until_full_at(
                    os_, file_.get(), std::as_writable_bytes(entries), first * entry_size));
    if (size != entries.size_bytes()) {
      return malformed("cut short while it was read");
    }
    for (std::uint64_t at = 0; at < count; ++at) {
      const SnapshotEntry& entry = entries[static_cast<std::size_t>(at)];
      LASTREF_CHECK(check(first + at, entry));
      first_value = entry.size < 0 ? first_value : std::min(first_value, entry.offset);
    }
  }
  // A larger number of slots would need the space in between for their entries.
  if (first_value != length_ * entry_size) {
    return malformed("not the entries of " + std::to_string(length_) +
                     " slots: the first value begins at byte " + std::to_string(first_value));
  }
  return ok();
}

Result<std::unique_ptr<Snapshot>> Snapshot::load(os::Os& os,
                                                 os::UniqueFd file,
                                                 std::uint64_t length,
                                                 Check check) {
  LASTREF_TRY(status, os.status(file.get()));
  if (status.kind != os::FileKind::regular) {
    return malformed("no regular file");
  }
  if (length > status.size / entry_size) {
    os.hit(Probe::short_snapshot_refused);
    return malformed("shorter than the entries of " + std::to_string(length) + " slots");
  }
  std::unique_ptr<Snapshot> snapshot(new Snapshot(os, std::move(file), length, status.size));
  if (check == Check::all) {
    LASTREF_CHECK(snapshot->check_all());
  }
  if (status.size == 0) {
    return snapshot;  // It contains nothing, and an empty file cannot be mapped.
  }
  LASTREF_TRY(map,
              os::map_memory(os,
                             {.file = snapshot->file_.get(),
                              .size = static_cast<std::size_t>(status.size),
                              .kind = os::MapKind::read}));
  snapshot->map_ = std::make_shared<const os::UniqueMap>(std::move(map));
  return snapshot;
}

Result<std::optional<os::Bytes>> Snapshot::find(std::uint64_t slot) const {
  const os::Bytes all = map_->get();
  // A copy: the checked value is the one that is used, even if another process writes to the file.
  SnapshotEntry entry;
  std::memcpy(&entry, all.data() + slot * entry_size, entry_size);
  if (entry.size < 0) {
    return std::optional<os::Bytes>();
  }
  LASTREF_CHECK(check(slot, entry));
  return all.subspan(static_cast<std::size_t>(entry.offset), static_cast<std::size_t>(entry.size));
}

Result<std::optional<CachedBytes>> Snapshot::view(std::uint64_t slot) const {
  LASTREF_TRY(found, find(slot));
  return found ? std::optional(CachedBytes{.bytes = *found, .keeper = map_}) : std::nullopt;
}

Result<std::optional<std::vector<std::byte>>> Snapshot::read(std::uint64_t slot) const {
  SnapshotEntry entry;
  LASTREF_TRY(
      entry_count,
      os::read_until_full_at(
          os_, file_.get(), std::as_writable_bytes(std::span(&entry, 1)), slot * entry_size));
  if (entry_count != entry_size) {
    return malformed("slot " + std::to_string(slot) + " is cut off");
  }
  if (entry.size < 0) {
    return std::optional<std::vector<std::byte>>();
  }
  LASTREF_CHECK(check(slot, entry));
  LASTREF_TRY(value, new_vector<std::byte>(static_cast<std::size_t>(entry.size)));
  LASTREF_TRY(count, os::read_until_full_at(os_, file_.get(), value, entry.offset));
  if (count != value.size()) {
    return malformed("slot " + std::to_string(slot) + " is cut short");
  }
  return value;
}

}  // namespace lastref::cache
