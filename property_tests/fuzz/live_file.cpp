// live_file: the file of a cache that many processes share, whatever an outsider has made of it.
#include "impl/cache/live_file.hpp"

#include <algorithm>
#include <cstring>

#include "property_tests/fuzz/file_os.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

using cache::LiveFile;
using cache::Put;
using Value = std::optional<std::vector<std::byte>>;

constexpr std::size_t slots_at = 256;
constexpr std::size_t word_size = 8;
constexpr std::size_t record_head_size = 16;
constexpr std::size_t id_size = 32;
/// bytes; what all puts of a check may make the file longer, so that maps still show all of it.
constexpr std::size_t growth_most = 1024;
/// So many slots are put into; each takes up to 48 bytes.
constexpr std::uint64_t puts_most = 8;

std::unique_ptr<LiveFile> opened(FileOs& os) {
  const auto fd = os.open("/a.cache", {.write = true});
  auto live = in_proportion(os.content(), [&] { return LiveFile::open(os, {os, *fd}); });
  if (!live) {
    expect_refused(live.error(), std::errc::bad_message);
    return nullptr;
  }
  return *std::move(live);
}

std::uint64_t word_at(os::Bytes file, std::size_t at) {
  expect(at <= file.size() && file.size() - at >= word_size, "what is served lies in the file");
  std::uint64_t word = 0;
  std::memcpy(&word, file.data() + at, word_size);
  return word;
}

/// The record that a slot points at, if it has one.
std::optional<os::Bytes> record_of(os::Bytes file, std::uint64_t slot) {
  const std::uint64_t at = word_at(file, slots_at + static_cast<std::size_t>(slot) * word_size);
  if (at < 2) {
    return std::nullopt;
  }
  if (word_at(file, at + word_size) != slot) {
    return std::nullopt;  // Somebody else's, which is served to nobody here.
  }
  const std::uint64_t size = word_at(file, at);
  expect(size <= file.size() - at - record_head_size, "what is served lies in the file");
  return file.subspan(at + record_head_size, size);
}

/// What is there, which every way of asking has to agree about.
Value value_of(FileOs& os, LiveFile& live, std::uint64_t slot) {
  const auto found = live.find(slot);
  const auto viewed = live.view(slot);
  const auto read = live.read(slot);
  expect(found.has_value() == viewed.has_value(), "find and view agree");
  if (!read) {
    expect_refused(read.error(), std::errc::bad_message);
    expect(!found, "what is found can be read");
    return std::nullopt;
  }
  if (!found) {
    // Only a map looks at the end of what was given room.
    expect_refused(found.error(), std::errc::bad_message);
    return std::nullopt;
  }
  const std::optional<os::Bytes> record = record_of(os.content(), slot);
  expect(viewed->has_value() == found->has_value(), "find and view agree");
  expect(read->has_value() == found->has_value(), "find and read agree");
  if (record && *found) {
    expect(std::ranges::equal(**found, *record), "a value is that of the file");
    expect((*viewed)->bytes.data() == (*found)->data(), "what is viewed is what is found");
    expect((*viewed)->bytes.size() == (*found)->size(), "what is viewed is what is found");
    expect(**read == std::vector<std::byte>(record->begin(), record->end()),
           "what is read is what is found");
  }
  return *read;
}

void expect_shape(const LiveFile& live, os::Bytes file) {
  const cache::LiveShape& shape = live.shape();
  expect(shape.length > 0, "a cache has slots");
  expect(shape.length <= (file.size() - slots_at) / word_size, "all slots are in the file");
  expect(live.id().size() == id_size, "a cache has an id");
}

/// Puts into a slot, and says whether that is what is there now.
void put(FileOs& os, LiveFile& live, std::uint64_t slot, const std::vector<std::byte>& value) {
  const bool was_frozen = live.is_frozen();
  const std::uint64_t before =
      word_at(os.content(), slots_at + static_cast<std::size_t>(slot) * word_size);
  const std::size_t written = os.written;
  const auto outcome = live.put(slot, value);
  if (!outcome) {
    expect_refused(outcome.error(), std::errc::bad_message);
    return;
  }
  const std::uint64_t after =
      word_at(os.content(), slots_at + static_cast<std::size_t>(slot) * word_size);
  if (*outcome != Put::stored) {
    const bool is_closed = *outcome == Put::frozen && before == 0 && after == 1;
    expect(before == after || is_closed, "what is not stored changes no slot but to close it");
    expect(*outcome != Put::present || before > 1, "what is present was there");
    expect(*outcome != Put::frozen || live.is_frozen(), "full is frozen");
    expect(*outcome == Put::no_room || os.written == written, "what is refused is not written");
    return;
  }
  expect(before == 0, "only an empty slot takes a value");
  expect(live.is_frozen() == was_frozen, "a cache that takes a value is not frozen by it");
  expect(value_of(os, live, slot) == value, "a value that was put is there");
}

void seal(FileOs& os, LiveFile& live) {
  live.freeze();
  expect(live.is_frozen(), "a sealed cache is frozen");
  for (std::uint64_t slot = 0; slot < std::min(live.shape().length, puts_most); ++slot) {
    const auto outcome = live.put(slot, {});
    if (!outcome) {
      expect_refused(outcome.error(), std::errc::bad_message);
      continue;
    }
    expect(*outcome == Put::frozen || *outcome == Put::present, "a sealed cache takes nothing");
    value_of(os, live, slot);
  }
}

}  // namespace

void check(os::Bytes input) {
  FileOs os(input);
  os.grows = true;
  os.size_most = input.size() + growth_most;
  if (const auto live = opened(os)) {
    expect_shape(*live, input);
    for (std::uint64_t slot = 0; slot < live->shape().length; ++slot) {
      value_of(os, *live, slot);
    }
    expect(std::ranges::equal(os.content(), input), "whoever asks changes nothing");
    for (std::uint64_t slot = 0; slot < std::min(live->shape().length, puts_most); ++slot) {
      put(os, *live, slot, std::vector<std::byte>(static_cast<std::size_t>(slot) * 3));
    }
    FileOs copy(os.content());
    copy.grows = true;
    const auto again = opened(copy);
    expect(again != nullptr, "a file is one still when values were put into it");
    for (std::uint64_t slot = 0; slot < live->shape().length; ++slot) {
      expect(value_of(copy, *again, slot) == value_of(os, *live, slot),
             "whoever opens it later sees the same");
    }
    seal(os, *live);
  }
  expect(os.is_at_rest(), "the file is closed and unmapped");
}

}  // namespace lastref::fuzz
