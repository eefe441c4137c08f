#include "impl/cache/live_file.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "impl/cache/copy.hpp"
#include "impl/cache/room.hpp"
#include "impl/os/wire.hpp"

namespace lastref::cache {
namespace {

constexpr std::string_view magic = "lastrefC";
constexpr std::uint32_t version = 1;
constexpr std::size_t id_size = 32;
constexpr std::size_t head_size = 72;
constexpr std::size_t end_at = 128;
constexpr std::size_t frozen_at = 192;
constexpr std::size_t slots_at = 256;
constexpr std::uint64_t word_size = sizeof(std::uint64_t);
constexpr std::uint64_t record_alignment = 16;
constexpr std::uint64_t record_head_size = 16;
constexpr std::uint64_t empty = 0;
constexpr std::uint64_t sealed = 1;
// What the frozen word says.
constexpr std::uint64_t open_to_all = 0;
constexpr std::uint64_t freezing = 1;
constexpr std::uint64_t frozen = 2;
/// Beyond what any file has, and sums of two such numbers fit.
constexpr std::uint64_t place_max = std::uint64_t{1} << 62U;

constexpr std::uint64_t round_up(std::uint64_t size) noexcept {
  return (size + record_alignment - 1) / record_alignment * record_alignment;
}

constexpr std::uint64_t head_end(std::uint64_t length) noexcept {
  return slots_at + length * word_size;
}

constexpr std::uint64_t records_at(std::uint64_t length) noexcept {
  return round_up(head_end(length));
}

constexpr std::uint64_t record_size(std::uint64_t value_size) noexcept {
  return round_up(record_head_size + value_size);
}

/// Whether a record may start there.
constexpr bool is_place(std::uint64_t at, std::uint64_t length) noexcept {
  return at % record_alignment == 0 && at >= records_at(length) && at <= place_max;
}

tl::unexpected<Error> malformed(const char* reason) {
  return failure(std::errc::bad_message, reason);
}

os::Packed packed_head(const LiveShape& shape, std::string_view id) {
  os::Packed head;
  const os::Bytes start = os::bytes_of(magic);
  head.assign(start.begin(), start.end());
  os::put(head, version);
  os::put(head, std::uint32_t{0});
  os::put(head, shape.length);
  os::put(head, shape.size_limit);
  os::put(head, std::uint64_t{shape.is_durable ? 1U : 0U});
  const os::Bytes id_bytes = os::bytes_of(id);
  head.insert(head.end(), id_bytes.begin(), id_bytes.end());
  head.resize(end_at);
  os::put(head, records_at(shape.length));
  return head;
}

struct RecordHead {
  std::uint64_t size = 0;
  std::uint64_t slot = 0;
};

RecordHead record_head_of(os::Bytes bytes) noexcept {
  RecordHead head;
  std::memcpy(&head.size, bytes.data(), word_size);
  std::memcpy(&head.slot, bytes.data() + word_size, word_size);
  return head;
}

}  // namespace

struct LiveFile::Reach {
  std::shared_ptr<const os::UniqueMap> map;
  std::atomic<std::uint64_t> end;  // Records that end here or before have been given room.
  Reach* shorter = nullptr;

  os::Bytes bytes() const noexcept { return map->get(); }
};

LiveFile::LiveFile(os::Os& os, os::UniqueFd file, os::UniqueMap head, const LiveShape& shape)
    : os_(os), file_(std::move(file)), head_(std::move(head)), shape_(shape) {}

LiveFile::~LiveFile() {
  for (Reach* each = reach_.load(); each != nullptr;) {
    const std::unique_ptr<Reach> owned(each);
    each = owned->shorter;
  }
}

Result<std::unique_ptr<LiveFile>> LiveFile::map_head(os::Os& os,
                                                     os::UniqueFd file,
                                                     const LiveShape& shape,
                                                     std::string id) {
  LASTREF_TRY(head,
              os::map_memory(os,
                             {.file = file.get(),
                              .size = static_cast<std::size_t>(head_end(shape.length)),
                              .kind = os::MapKind::shared}));
  std::unique_ptr<LiveFile> live(new LiveFile(os, std::move(file), std::move(head), shape));
  live->id_ = std::move(id);
  return live;
}

Result<std::unique_ptr<LiveFile>> LiveFile::create(os::Os& os,
                                                   os::UniqueFd file,
                                                   const LiveShape& shape) {
  LASTREF_TRY(id, os::random_hex(os));
  // Zeros are written, for a hole would be filled by the store that publishes: with SIGBUS, where
  // there is no room.
  constexpr std::uint64_t zeros_max = std::uint64_t{1} << 20U;
  const std::uint64_t end = head_end(shape.length);
  const std::vector<std::byte> zeros(static_cast<std::size_t>(std::min(end, zeros_max)));
  for (std::uint64_t at = 0; at < end; at += zeros.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(zeros.size(), end - at);
    LASTREF_CHECK(os::write_all_at(
        os, file.get(), os::Bytes(zeros).first(static_cast<std::size_t>(count)), at));
  }
  LASTREF_CHECK(os::write_all_at(os, file.get(), packed_head(shape, id), 0));
  return map_head(os, std::move(file), shape, std::move(id));
}

Result<std::unique_ptr<LiveFile>> LiveFile::open(os::Os& os, os::UniqueFd file) {
  LASTREF_TRY(status, os.status(file.get()));
  if (status.kind != os::FileKind::regular) {
    return malformed("no regular file");
  }
  std::array<std::byte, head_size> bytes{};
  LASTREF_TRY(count, os::read_until_full_at(os, file.get(), bytes, 0));
  if (count != bytes.size() ||
      !std::ranges::equal(os::Bytes(bytes).first(magic.size()), os::bytes_of(magic))) {
    return malformed("no file of a cache");
  }
  os::Unpacker head(os::Bytes(bytes).subspan(magic.size()));
  if (head.number<std::uint32_t>() != version || head.number<std::uint32_t>() != 0) {
    return malformed("a cache of another version");
  }
  LiveShape shape;
  shape.length = head.number<std::uint64_t>();
  shape.size_limit = head.number<std::uint64_t>();
  const auto durable = head.number<std::uint64_t>();
  if (shape.length == 0 || shape.length > length_max || head_end(shape.length) > status.size) {
    return malformed("slots that are not there");
  }
  if (durable > 1) {
    return malformed("flags that nobody knows");
  }
  shape.is_durable = durable == 1;
  const os::Bytes id = head.rest();
  static_assert(head_size - id_size == 40);
  LASTREF_TRY(live,
              map_head(os,
                       std::move(file),
                       shape,
                       std::string(static_cast<const char*>(static_cast<const void*>(id.data())),
                                   id.size())));
  // Where a put would write over the slots.
  if (!is_place(live->end_word().load(), shape.length)) {
    return malformed("an end that is none");
  }
  return live;
}

os::SharedWord LiveFile::end_word() const noexcept {
  return {os_, head_.get().data() + end_at};
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
    freeze();  // Who began may be dead, and writers who are under way must not outlive the answer.
  }
  return state != open_to_all;
}

void LiveFile::freeze() noexcept {
  os::SharedWord word = frozen_word();
  std::uint64_t state = open_to_all;
  word.change(state, freezing);
  for (std::uint64_t slot = 0; slot < shape_.length; ++slot) {
    std::uint64_t expected = empty;
    slot_word(slot).change(expected, sealed);
  }
  word.store(frozen);
}

Put LiveFile::refuse(std::uint64_t found) noexcept {
  if (found != sealed) {
    return Put::present;
  }
  if (!is_frozen()) {
    freeze();  // An outsider has closed the slot.
  }
  return Put::frozen;
}

/// Where a record of `size` bytes goes; nothing if that is beyond the limit, and all know it then.
std::optional<std::uint64_t> LiveFile::take_room(std::uint64_t size) noexcept {
  os::SharedWord end = end_word();
  for (std::uint64_t at = end.load();;) {
    const bool is_beyond = at > place_max || size > place_max;
    if (is_beyond || (shape_.size_limit > 0 && at + size > shape_.size_limit)) {
      freeze();
      return std::nullopt;
    }
    if (end.change(at, at + size)) {
      return at;
    }
  }
}

Status LiveFile::write_record(std::uint64_t at, std::uint64_t slot, os::Bytes value) noexcept {
  // One call for a small value, where a second one would cost more than the copy.
  constexpr std::size_t copied_max = 8192;
  std::array<std::byte, record_head_size + copied_max> bytes;
  const std::uint64_t size = value.size();
  std::memcpy(bytes.data(), &size, word_size);
  std::memcpy(bytes.data() + word_size, &slot, word_size);
  if (value.size() <= copied_max) {
    std::ranges::copy(value, bytes.begin() + record_head_size);
    return os::write_all_at(
        os_, file_.get(), os::Bytes(bytes).first(record_head_size + value.size()), at);
  }
  LASTREF_CHECK(os::write_all_at(os_, file_.get(), os::Bytes(bytes).first(record_head_size), at));
  return os::write_all_at(os_, file_.get(), value, at + record_head_size);
}

/// The bytes first, as long as the room is ours, so that a full disk is not full of what nobody
/// has. If others have taken room behind it, it is dead space.
void LiveFile::give_room_back(std::uint64_t at, std::uint64_t size) noexcept {
  static_cast<void>(os::retry_interrupted([&] { return os_.punch_hole(file_.get(), at, size); }));
  std::uint64_t end = at + size;
  end_word().change(end, at);
}

Result<Put> LiveFile::put(std::uint64_t slot, os::Bytes value) {
  os::SharedWord word = slot_word(slot);
  const std::uint64_t before = word.load();
  if (before != empty) {
    return refuse(before);
  }
  const std::uint64_t size = record_size(value.size());
  const std::optional<std::uint64_t> at = take_room(size);
  if (!at) {
    return Put::frozen;
  }
  Status written = write_record(*at, slot, value);
  if (written && shape_.is_durable) {
    written = os::sync_file(os_, file_.get());
  }
  if (!written) {
    give_room_back(*at, size);
    if (is_out_of_room(written.error())) {
      return Put::no_room;
    }
    return tl::unexpected<Error>(std::move(written).error());
  }
  std::uint64_t found = empty;
  if (!word.change(found, *at)) {
    give_room_back(*at, size);
    return refuse(found);
  }
  if (shape_.is_durable) {
    LASTREF_CHECK(os::sync_file(os_, file_.get()));
  }
  return Put::stored;
}

/// A map that reaches to `end`, if there are records up to there.
Result<const LiveFile::Reach*> LiveFile::reach(std::uint64_t end) {
  Reach* known = reach_.load(std::memory_order_acquire);
  if (known != nullptr && end <= known->end.load(std::memory_order_relaxed)) {
    return known;
  }
  // Both numbers are an outsider's as well, and what is touched behind the file is SIGBUS.
  LASTREF_TRY(status, os_.status(file_.get()));
  const std::uint64_t there = std::min(end_word().load(), status.size);
  if (end > there) {
    return malformed("a record behind the end");
  }
  if (known != nullptr && there <= known->bytes().size()) {
    known->end.store(there, std::memory_order_relaxed);
    return known;
  }
  // Longer than what is there, so that it is mapped anew as rarely as the file doubles.
  const std::uint64_t size = std::bit_ceil(std::max(there, os::map_alignment));
  LASTREF_TRY(map,
              os::map_memory(os_,
                             {.file = file_.get(),
                              .size = static_cast<std::size_t>(size),
                              .kind = os::MapKind::read}));
  auto made = std::make_unique<Reach>();
  made->map = std::make_shared<const os::UniqueMap>(std::move(map));
  made->end.store(there, std::memory_order_relaxed);
  made->shorter = known;
  while (!reach_.compare_exchange_weak(
      made->shorter, made.get(), std::memory_order_acq_rel, std::memory_order_acquire)) {
  }
  return made.release();
}

Result<std::optional<LiveFile::Found>> LiveFile::locate(std::uint64_t slot) {
  const std::uint64_t at = slot_word(slot).load();
  if (at == empty || at == sealed) {
    return std::optional<Found>();
  }
  if (!is_place(at, shape_.length)) {
    return malformed("a slot that points at no record");
  }
  LASTREF_TRY(start, reach(at + record_head_size));
  const RecordHead head = record_head_of(start->bytes().subspan(at, record_head_size));
  if (head.slot != slot || head.size > place_max) {
    return malformed("a record of another slot");
  }
  LASTREF_TRY(whole, reach(at + record_head_size + head.size));
  return Found{.bytes = whole->bytes().subspan(at + record_head_size, head.size), .reach = whole};
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
  return CachedBytes{.bytes = found->bytes, .keeper = found->reach->map};
}

/// As the file has it: the page of the map may have been cut off.
Result<std::uint64_t> LiveFile::read_slot(std::uint64_t slot) const {
  std::array<std::byte, word_size> word{};
  LASTREF_TRY(count, os::read_until_full_at(os_, file_.get(), word, slots_at + slot * word_size));
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
  // Read again, for nobody promises that the eight bytes were read in one go: now they are written.
  LASTREF_TRY(at, read_slot(slot));
  if (!is_place(at, shape_.length)) {
    return malformed("a slot that points at no record");
  }
  LASTREF_TRY(status, os_.status(file_.get()));
  std::array<std::byte, record_head_size> bytes{};
  LASTREF_TRY(head_count, os::read_until_full_at(os_, file_.get(), bytes, at));
  const RecordHead head = record_head_of(bytes);
  const std::uint64_t starts_at = at + record_head_size;
  if (head_count != bytes.size() || head.slot != slot) {
    return malformed("a record of another slot");
  }
  if (starts_at > status.size || head.size > status.size - starts_at) {
    return malformed("a record behind the end of the file");
  }
  LASTREF_TRY(value, new_vector<std::byte>(static_cast<std::size_t>(head.size)));
  LASTREF_TRY(count, os::read_until_full_at(os_, file_.get(), value, starts_at));
  if (count != value.size()) {
    return malformed("a record behind the end of the file");
  }
  return value;
}

}  // namespace lastref::cache
