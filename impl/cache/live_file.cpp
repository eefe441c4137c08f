#include "impl/cache/live_file.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include <lastref/probe.hpp>

#include "impl/cache/copy.hpp"
#include "impl/cache/layout.hpp"
#include "impl/cache/slot_file.hpp"
#include "impl/cache/space.hpp"
#include "impl/os/wire.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::cache {
namespace {

constexpr std::uint64_t empty = 0;
constexpr std::uint64_t sealed = 1;
// The values of the frozen word.
constexpr std::uint64_t open_to_all = 0;
constexpr std::uint64_t freezing = 1;
constexpr std::uint64_t frozen = 2;
tl::unexpected<Error> malformed(const char* reason) {
  return failure(std::errc::bad_message, reason);
}

constexpr std::uint64_t durable_flag = 1;
constexpr unsigned words_folder_shift = 8;

constexpr std::uint64_t flags_of(bool is_durable, std::uint64_t slot_folder_number) noexcept {
  return (is_durable ? durable_flag : 0) | slot_folder_number << words_folder_shift;
}

os::Packed packed_head(const LiveShape& shape,
                       std::uint64_t slot_folder_number,
                       std::string_view id) {
  os::Packed head;
  const os::Bytes start = os::bytes_of(live_magic);
  head.assign(start.begin(), start.end());
  os::put(head, live_version);
  os::put(head, std::uint32_t{0});
  os::put(head, shape.length);
  os::put(head, shape.size_limit);
  os::put(head, flags_of(shape.is_durable, slot_folder_number));
  const os::Bytes id_bytes = os::bytes_of(id);
  head.insert(head.end(), id_bytes.begin(), id_bytes.end());
  head.resize(end_at);
  os::put(head, records_at(shape.length));
  return head;
}

}  // namespace

struct LiveFile::Mapping {
  std::shared_ptr<const os::UniqueMap> map;
  std::atomic<std::uint64_t> end;  // Records that end here or before have space in the file.
  Mapping* older = nullptr;

  os::Bytes bytes() const noexcept { return map->get(); }
  RecordHead head_at(std::uint64_t at) const noexcept {
    return record_head_of(bytes().subspan(at, record_head_size));
  }
};

LiveFile::LiveFile(os::Os& os, Files files, os::UniqueMap head, const LiveShape& shape)
    : os_(os),
      file_(std::move(files.values)),
      slots_(std::move(files.slots)),
      head_(std::move(head)),
      shape_(shape),
      mapping_(os, nullptr),
      old_mappings_(os, nullptr) {}

LiveFile::~LiveFile() {
  drop_old_maps();
  delete mapping_.load();
}

void LiveFile::drop_old_maps() noexcept {
  for (Mapping* each = old_mappings_.exchange(nullptr); each != nullptr;) {
    const std::unique_ptr<Mapping> owned(each);
    each = owned->older;
  }
}

Result<std::unique_ptr<LiveFile>> LiveFile::map_head(os::Os& os,
                                                     Files files,
                                                     const LiveShape& shape,
                                                     std::string id) {
  LASTREF_TRY(head,
              os::map_memory(os,
                             {.file = files.slots ? files.slots.get() : files.values.get(),
                              .size = static_cast<std::size_t>(head_end(shape.length)),
                              .kind = os::MapKind::shared}));
  std::unique_ptr<LiveFile> live(new LiveFile(os, std::move(files), std::move(head), shape));
  live->id_ = std::move(id);
  return live;
}

Result<std::unique_ptr<LiveFile>> LiveFile::create(os::Os& os,
                                                   Files files,
                                                   const LiveShape& shape) {
  LASTREF_TRY(id, os::random_hex(os));
  const os::Packed head = packed_head(shape, files.slot_folder_number, id);
  // The head is written first.
  LASTREF_CHECK(os::write_all_at(os, files.values.get(), head, 0));
  if (files.slots) {
    LASTREF_CHECK(os::write_all_at(os, files.slots.get(), head, 0));
  } else {
    LASTREF_CHECK(write_zeros(os, files.values.get(), head.size(), head_end(shape.length)));
  }
  return map_head(os, std::move(files), shape, std::move(id));
}

Result<LiveFile::Head> LiveFile::read_head(os::Os& os, os::Fd file) {
  LASTREF_TRY(status, os.status(file));
  if (status.kind != os::FileKind::regular) {
    return malformed("no regular file");
  }
  std::array<std::byte, head_size> bytes{};
  LASTREF_TRY(count, os::read_until_full_at(os, file, bytes, 0));
  if (count != bytes.size() ||
      !std::ranges::equal(os::Bytes(bytes).first(live_magic.size()), os::bytes_of(live_magic))) {
    return malformed("not a file of a cache");
  }
  os::Unpacker unpacker(os::Bytes(bytes).subspan(live_magic.size()));
  if (unpacker.number<std::uint32_t>() != live_version || unpacker.number<std::uint32_t>() != 0) {
    return malformed("a cache of another version");
  }
  Head head;
  head.file_size = status.size;
  head.shape.length = unpacker.number<std::uint64_t>();
  head.shape.size_limit = unpacker.number<std::uint64_t>();
  const auto flags = unpacker.number<std::uint64_t>();
  head.shape.is_durable = (flags & durable_flag) != 0;
  head.slot_folder_number = flags >> words_folder_shift;
  if (head.slot_folder_number > slot_file_folders.size() ||
      flags != flags_of(head.shape.is_durable, head.slot_folder_number)) {
    return malformed("unknown flags");
  }
  const os::Bytes id = unpacker.rest();
  static_assert(head_size - id_size == 40);
  head.id = std::string(static_cast<const char*>(static_cast<const void*>(id.data())), id.size());
  return head;
}

Result<std::unique_ptr<LiveFile>> LiveFile::open(os::Os& os,
                                                 os::UniqueFd file,
                                                 const OpenWords& open_words) {
  LASTREF_TRY(head, read_head(os, file.get()));
  Files files{
      .values = std::move(file), .slots = {}, .slot_folder_number = head.slot_folder_number};
  std::uint64_t words_size = head.file_size;
  if (head.slot_folder_number != 0) {
    if (!open_words) {
      return malformed("words that are in another file");
    }
    LASTREF_TRY(words, open_words(head.slot_folder_number));
    LASTREF_TRY(other, read_head(os, words.get()));
    if (other.id != head.id || other.shape != head.shape) {
      return malformed("words of another cache");
    }
    files.slots = std::move(words);
    words_size = other.file_size;
  }
  const LiveShape& shape = head.shape;
  if (shape.length == 0 || shape.length > length_max || head_end(shape.length) > words_size) {
    return malformed("an impossible number of slots");
  }
  LASTREF_TRY(live, map_head(os, std::move(files), shape, std::move(head.id)));
  // At another offset, a put would overwrite the slots.
  if (!is_offset(live->end_word().load(), shape.length)) {
    return malformed("an invalid end");
  }
  return live;
}

os::Fd LiveFile::slots_fd() const noexcept {
  return slots_ ? slots_.get() : file_.get();
}

os::SharedWord LiveFile::end_word() const noexcept {
  return {os_, head_.get().data() + end_at};
}

os::SharedWord LiveFile::last_word() const noexcept {
  return {os_, head_.get().data() + last_at};
}

os::SharedWord LiveFile::frozen_word() const noexcept {
  return {os_, head_.get().data() + frozen_at};
}

os::SharedWord LiveFile::slot_word(std::uint64_t slot) const noexcept {
  return {os_, head_.get().data() + slots_at + slot * word_size};
}

bool LiveFile::is_frozen() noexcept {
  const std::uint64_t state = frozen_word().load();
  if (state != open_to_all && state != frozen) {
    os_.hit(Probe::freeze_finished_by_other);
    freeze();  // The process that began may be dead, and no put under way may succeed after the
               // answer.
  }
  return state != open_to_all;
}

bool LiveFile::freeze() noexcept {
  os::SharedWord word = frozen_word();
  std::uint64_t state = open_to_all;
  const bool is_first = word.change(state, freezing);
  for (std::uint64_t slot = 0; slot < shape_.length; ++slot) {
    std::uint64_t expected = empty;
    slot_word(slot).change(expected, sealed);
  }
  word.store(frozen);
  return is_first;
}

Put LiveFile::refuse(std::uint64_t found) noexcept {
  if (found != sealed) {
    return Put::present;
  }
  os_.hit(Probe::put_met_seal);
  if (!is_frozen()) {
    freeze();  // An outsider has closed the slot.
  }
  return Put::frozen;
}

/// The offset for a record of `size` bytes; none if that is beyond the size of any file.
std::optional<std::uint64_t> LiveFile::take_space(std::uint64_t size) noexcept {
  os::SharedWord end = end_word();
  for (std::uint64_t at = end.load();;) {
    if (at > offset_max || size > offset_max) {
      freeze();  // An outsider has changed the end.
      return std::nullopt;
    }
    if (end.change(at, at + size)) {
      return at;
    }
    os_.hit(Probe::end_raced);
  }
}

Status LiveFile::write_record(std::uint64_t at, const RecordHead& head, os::Bytes value) noexcept {
  // One call for a small value: a second one would cost more than the copy.
  std::array<std::byte, record_head_size + os::usual_limits.joined_value> bytes;
  pack(head, bytes.data());
  if (value.size() <= limits_.joined_value) {
    std::ranges::copy(value, bytes.begin() + record_head_size);
    return os::write_all_at(
        os_, file_.get(), os::Bytes(bytes).first(record_head_size + value.size()), at);
  }
  LASTREF_CHECK(os::write_all_at(os_, file_.get(), os::Bytes(bytes).first(record_head_size), at));
  return os::write_all_at(os_, file_.get(), value, at + record_head_size);
}

/// First punches the hole, while the space is ours. If others have taken space after it, it stays
/// dead space.
void LiveFile::give_space_back(std::uint64_t at, std::uint64_t size) noexcept {
  static_cast<void>(os::retry_interrupted([&] { return os_.punch_hole(file_.get(), at, size); }));
  os_.hit(Probe::record_space_given_back);
  std::uint64_t end = at + size;
  end_word().change(end, at);
}

/// Reads the current count. When this returns, the record that was counted last is in its slot.
Result<LiveFile::Count> LiveFile::count() {
  const std::uint64_t last = last_word().load();
  if (last == empty) {
    return Count{.last = empty, .bytes = records_at(shape_.length)};
  }
  LASTREF_TRY(start, map_record_head(last));
  const RecordHead head = start->head_at(last);
  if (head.slot >= shape_.length || head.before > shape_.size_limit) {
    return malformed("a count of a record that does not exist");
  }
  // The process that counted it may be dead, or stopped.
  os::SharedWord word = slot_word(head.slot);
  if (std::uint64_t expected = word.load(); expected == empty) {
    os_.hit(Probe::slot_filled_by_other);
    word.change(expected, last);
  }
  return Count{.last = last, .bytes = head.before + record_size(head.size)};
}

/// The count, if the slot may still get a record of `size` bytes; otherwise sets `refused`.
Result<LiveFile::Count> LiveFile::count_before(std::uint64_t slot,
                                               std::uint64_t size,
                                               std::optional<Put>& refused) {
  LASTREF_TRY(now, count());
  // In this order: what fills the limit may be in this very slot.
  if (const std::uint64_t found = slot_word(slot).load(); found != empty) {
    refused = refuse(found);
  } else if (size > shape_.size_limit || now.bytes > shape_.size_limit - size) {
    os_.hit(Probe::limit_froze_cache);
    freeze();
    refused = Put::frozen;
  }
  return now;
}

/// Counts the record, which is completely written; or sets `refused`.
Status LiveFile::count_record(std::uint64_t at,
                              RecordHead head,
                              std::uint64_t last,
                              std::optional<Put>& refused) {
  os::SharedWord word = last_word();
  for (std::uint64_t expected = last; !word.change(expected, at); expected = last) {
    os_.hit(Probe::limit_raced);
    LASTREF_TRY(now, count_before(head.slot, record_size(head.size), refused));
    if (refused) {
      return ok();
    }
    head.before = now.bytes;
    last = now.last;
    std::array<std::byte, record_head_size> bytes{};
    pack(head, bytes.data());
    LASTREF_CHECK(os::write_all_at(os_, file_.get(), bytes, at));
    // It is another record than the one that was synced.
    LASTREF_CHECK(shape_.is_durable ? os::sync_file(os_, file_.get()) : ok());
  }
  return ok();
}

Result<Put> LiveFile::put(std::uint64_t slot, os::Bytes value) {
  os::SharedWord word = slot_word(slot);
  if (const std::uint64_t before = word.load(); before != empty) {
    return refuse(before);
  }
  if (value.size() > value_size_max) {
    return Put::no_space;  // No file system has so much space.
  }
  const std::uint64_t size = record_size(value.size());
  Count count;
  if (shape_.size_limit > 0) {
    std::optional<Put> refused;
    LASTREF_TRY(now, count_before(slot, size, refused));
    if (refused) {
      return *refused;
    }
    count = now;
  }
  const std::optional<std::uint64_t> at = take_space(size);
  if (!at) {
    return Put::frozen;
  }
  const RecordHead head = {.size = value.size(), .slot = slot, .before = count.bytes};
  return write_and_publish(*at, head, value, count.last);
}

/// Writes into the space that was taken. If the record is not published, gives the space back.
Result<Put> LiveFile::write_and_publish(std::uint64_t at,
                                        const RecordHead& head,
                                        os::Bytes value,
                                        std::uint64_t last) {
  const std::uint64_t size = record_size(value.size());
  Status written = write_record(at, head, value);
  if (written && shape_.is_durable) {
    written = os::sync_file(os_, file_.get());
  }
  std::optional<Put> refused;
  if (written && shape_.size_limit > 0) {
    written = os::within_memory("a record", [&] { return count_record(at, head, last, refused); });
  }
  if (!written || refused) {
    give_space_back(at, size);
    if (refused || is_out_of_space(written.error())) {
      return refused.value_or(Put::no_space);
    }
    return failure(std::move(written).error());
  }
  std::uint64_t found = empty;
  if (!slot_word(head.slot).change(found, at) && found != at) {
    // A record that was counted stays where it is: the next put checks it.
    os_.hit(Probe::slot_raced);
    if (shape_.size_limit == 0) {
      give_space_back(at, size);
    }
    return refuse(found);
  }
  LASTREF_CHECK(shape_.is_durable ? os::sync_file(os_, slots_fd()) : ok());
  return Put::stored;
}

/// A map that reaches to `end`, if there are records up to there.
Result<const LiveFile::Mapping*> LiveFile::map_up_to(std::uint64_t end) {
  Mapping* known = mapping_.load(std::memory_order_acquire);
  if (known != nullptr && end <= known->end.load(std::memory_order_relaxed)) {
    return known;
  }
  // An outsider may have set both numbers, and an access after the end of the file is SIGBUS.
  LASTREF_TRY(status, os_.status(file_.get()));
  const std::uint64_t there = std::min(end_word().load(), status.size);
  if (end > there) {
    return malformed("a record past the end");
  }
  if (known != nullptr && there <= known->bytes().size()) {
    known->end.store(there, std::memory_order_relaxed);
    return known;
  }
  // Larger than the file, so that a new map is needed only when the file has doubled.
  const std::uint64_t size = std::bit_ceil(std::max(there, os::map_alignment));
  LASTREF_TRY(map,
              os::map_memory(os_,
                             {.file = file_.get(),
                              .size = static_cast<std::size_t>(size),
                              .kind = os::MapKind::read}));
  auto made = std::make_unique<Mapping>();
  made->map = std::make_shared<const os::UniqueMap>(std::move(map));
  made->end.store(there, std::memory_order_relaxed);
  if (!mapping_.change(known, made.get(), std::memory_order_acq_rel, std::memory_order_acquire)) {
    os_.hit(Probe::map_raced);
    return map_up_to(end);  // Another thread was faster.
  }
  if (known != nullptr) {
    os_.hit(Probe::cache_mapped_anew);
    known->older = old_mappings_.load();
    while (!old_mappings_.change(known->older, known)) {
    }
  }
  return made.release();
}

/// A map with the head of a record, which may be written by an outsider.
Result<const LiveFile::Mapping*> LiveFile::map_record_head(std::uint64_t at) {
  if (!is_offset(at, shape_.length)) {
    return malformed("a slot that points at no record");
  }
  return map_up_to(at + record_head_size);
}

Result<std::optional<LiveFile::Found>> LiveFile::locate(std::uint64_t slot) {
  const std::uint64_t at = slot_word(slot).load();
  if (at == empty || at == sealed) {
    return std::optional<Found>();
  }
  LASTREF_TRY(start, map_record_head(at));
  const RecordHead head = start->head_at(at);
  if (head.slot != slot) {
    return malformed("a record of another slot");
  }
  LASTREF_TRY(whole, map_up_to(at + record_head_size + head.size));
  return Found{.bytes = whole->bytes().subspan(at + record_head_size, head.size), .mapping = whole};
}

Result<std::optional<os::Bytes>> LiveFile::find(std::uint64_t slot) {
  LASTREF_TRY(found, locate(slot));
  return found ? std::optional(found->bytes) : std::nullopt;
}

Result<std::optional<CachedBytes>> LiveFile::view(std::uint64_t slot) {
  LASTREF_TRY(found, locate(slot));
  if (!found) {
    return std::optional<CachedBytes>();
  }
  return CachedBytes{.bytes = found->bytes, .keeper = found->mapping->map};
}

/// Reads it from the file: the page of the map may have been truncated.
Result<std::uint64_t> LiveFile::read_slot(std::uint64_t slot) const {
  std::array<std::byte, word_size> word{};
  LASTREF_TRY(count, os::read_until_full_at(os_, slots_fd(), word, slots_at + slot * word_size));
  if (count != word.size()) {
    return malformed("the file is shorter than its slots");
  }
  return std::bit_cast<std::uint64_t>(word);
}

Result<std::optional<std::vector<std::byte>>> LiveFile::read(std::uint64_t slot) {
  LASTREF_TRY(first, read_slot(slot));
  if (first == empty || first == sealed) {
    return std::optional<std::vector<std::byte>>();
  }
  // Read again: the first read of the eight bytes may not have been atomic, but now they are
  // written.
  LASTREF_TRY(at, read_slot(slot));
  if (!is_offset(at, shape_.length)) {
    return malformed("a slot that points at no record");
  }
  LASTREF_TRY(status, os_.status(file_.get()));
  std::array<std::byte, record_head_size> bytes{};
  LASTREF_TRY(head_count, os::read_until_full_at(os_, file_.get(), bytes, at));
  const RecordHead head = record_head_of(bytes);
  const std::uint64_t starts_at = at + record_head_size;
  if (head_count != bytes.size() || head.slot != slot) {
    os_.hit(Probe::bad_record_refused);
    return malformed("a record of another slot");
  }
  if (starts_at > status.size || head.size > status.size - starts_at) {
    os_.hit(Probe::record_behind_end_refused);
    return malformed("a record past the end of the file");
  }
  LASTREF_TRY(value, new_vector<std::byte>(static_cast<std::size_t>(head.size)));
  LASTREF_TRY(count, os::read_until_full_at(os_, file_.get(), value, starts_at));
  if (count != value.size()) {
    return malformed("a record past the end of the file");
  }
  return value;
}

}  // namespace lastref::cache
