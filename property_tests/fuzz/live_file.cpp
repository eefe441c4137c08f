// live_file: the file of a cache that many processes share, with any changes by an outsider.
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

// From the description of the file's format, and not from the code that writes it.
constexpr std::size_t end_at = 128;
constexpr std::size_t last_at = 136;
constexpr std::size_t slots_at = 256;
constexpr std::size_t word_size = 8;
constexpr std::size_t record_head_size = 16;
constexpr std::size_t id_size = 32;
/// bytes; how much longer all puts of a check may make the file, so that maps still show all of it.
constexpr std::size_t growth_most = 1024;
/// This many slots are put into; each takes up to 48 bytes.
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

std::uint64_t slot_word(os::Bytes file, std::uint64_t slot) {
  return word_at(file, slots_at + static_cast<std::size_t>(slot) * word_size);
}

/// The head of a record: size and slot, and what was counted before it.
struct Head {
  std::uint64_t size = 0;
  std::uint64_t slot = 0;
  std::uint64_t before = 0;

  std::uint64_t counted() const { return before + (record_head_size + size + 15) / 16 * 16; }
};

/// Nothing if no record can be there, or its head is not in the file.
std::optional<Head> head_at(os::Bytes file, std::uint64_t length, std::uint64_t at) {
  const std::uint64_t first = (slots_at + length * word_size + 15) / 16 * 16;
  if (at % 16 != 0 || at < first || at > file.size() || file.size() - at < record_head_size) {
    return std::nullopt;
  }
  constexpr std::uint64_t number = (std::uint64_t{1} << 48U) - 1;
  const std::uint64_t one = word_at(file, at);
  const std::uint64_t two = word_at(file, at + word_size);
  return Head{.size = one & number,
              .slot = (one >> 48U) + (two >> 48U) * 65536,
              .before = (two & number) * 16};
}

/// The contents of a slot in the file.
struct Content {
  bool is_empty = true;
  std::optional<os::Bytes> value;  ///< If it is not empty; none if its record is invalid.
  bool is_below_end = false;       ///< Before the end of the space that was allocated to values.
};

Content content_of(os::Bytes file, std::uint64_t length, std::uint64_t slot) {
  const std::uint64_t at = slot_word(file, slot);
  if (at < 2) {
    return {};
  }
  Content content;
  content.is_empty = false;
  const auto head = head_at(file, length, at);
  if (head && head->slot == slot && head->size <= file.size() - at - record_head_size) {
    content.value = file.subspan(at + record_head_size, head->size);
    content.is_below_end = at + record_head_size + head->size <= word_at(file, end_at);
  }
  return content;
}

/// The contents of the slot. Every way of reading must return them, or an error that they are
/// malformed.
Value value_of(FileOs& os, LiveFile& live, std::uint64_t slot) {
  const Content content = content_of(os.content(), live.shape().length, slot);
  const auto found = live.find(slot);
  const auto viewed = live.view(slot);
  const auto read = live.read(slot);
  expect(found.has_value() == viewed.has_value(), "find and view agree");
  if (content.is_empty) {
    expect(found && !*found && !*viewed && read && !*read, "an empty slot has no value");
    return std::nullopt;
  }
  if (!content.value) {
    expect(!found && !read, "a record that is none is not served");
    expect_refused(found.error(), std::errc::bad_message);
    expect_refused(read.error(), std::errc::bad_message);
    return std::nullopt;
  }
  const std::vector<std::byte> value(content.value->begin(), content.value->end());
  expect(read && *read == value, "what is read is that of the file");
  if (!found) {
    // A map is read only up to the end of the values, wherever that was when it was mapped.
    expect_refused(found.error(), std::errc::bad_message);
    expect(!content.is_below_end, "a record below the end is found");
    return value;
  }
  expect(*found && std::ranges::equal(**found, value), "what is found is that of the file");
  expect(*viewed && (*viewed)->bytes.data() == (*found)->data() &&
             (*viewed)->bytes.size() == (*found)->size(),
         "what is viewed is what is found");
  return value;
}

/// The counted bytes, according to the record that was counted last.
std::optional<std::uint64_t> counted(os::Bytes file, std::uint64_t length) {
  const std::uint64_t last = word_at(file, last_at);
  if (last == 0) {
    return (slots_at + length * word_size + 15) / 16 * 16;
  }
  const auto head = head_at(file, length, last);
  return head ? std::optional(head->counted()) : std::nullopt;
}

void expect_shape(const LiveFile& live, os::Bytes file) {
  const cache::LiveShape& shape = live.shape();
  expect(shape.length > 0, "a cache has slots");
  expect(shape.length <= (file.size() - slots_at) / word_size, "all slots are in the file");
  expect(live.id().size() == id_size, "a cache has an id");
}

/// Puts into a slot, and checks what is there now.
void put(FileOs& os, LiveFile& live, std::uint64_t slot, const std::vector<std::byte>& value) {
  const auto [length, limit, is_durable] = live.shape();
  const bool was_frozen = live.is_frozen();
  const std::uint64_t before = slot_word(os.content(), slot);
  const auto count_before = counted(os.content(), length);
  const bool was_counted = word_at(os.content(), last_at) != 0;
  const std::size_t written = os.written;
  const auto outcome = live.put(slot, value);
  const std::uint64_t after = slot_word(os.content(), slot);
  if (!outcome) {
    expect_refused(outcome.error(), std::errc::bad_message);
    expect(limit > 0 && was_counted && before == 0, "only a count can be malformed");
    expect(os.written == written, "what is refused is not written");
    return;
  }
  if (*outcome != Put::stored) {
    const bool is_closed = *outcome == Put::frozen && before == 0 && after == 1;
    // The record that was counted last may lack its slot, because its writer died. The next caller
    // writes it there.
    const bool is_last =
        *outcome == Put::present && was_counted && after == word_at(os.content(), last_at);
    expect(before == after || is_closed || is_last, "what is not stored changes no slot");
    expect(*outcome != Put::present || after > 1, "what is present was there");
    expect(*outcome != Put::frozen || live.is_frozen(), "full is frozen");
    expect(*outcome == Put::no_space || os.written == written, "what is refused is not written");
    return;
  }
  expect(before == 0, "only an empty slot takes a value");
  expect(live.is_frozen() == was_frozen, "a cache that takes a value is not frozen by it");
  expect(value_of(os, live, slot) == value, "a value that was put is there");
  if (limit > 0) {
    const auto head = head_at(os.content(), length, after);
    expect(word_at(os.content(), last_at) == after, "what was put is what was counted last");
    expect(head && count_before && head->before == *count_before, "nothing is counted twice");
    expect(head->counted() <= limit, "a limit is kept");
  }
}

void seal(FileOs& os, LiveFile& live) {
  live.freeze();
  expect(live.is_frozen(), "a sealed cache is frozen");
  for (std::uint64_t slot = 0; slot < std::min(live.shape().length, puts_most); ++slot) {
    const auto outcome = live.put(slot, {});
    expect(outcome.has_value(), "a sealed cache refuses by its outcome");
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
    expect(std::ranges::equal(os.content(), input), "a query changes nothing");
    for (std::uint64_t slot = 0; slot < std::min(live->shape().length, puts_most); ++slot) {
      put(os, *live, slot, std::vector<std::byte>(static_cast<std::size_t>(slot) * 3));
    }
    FileOs copy(os.content());
    copy.grows = true;
    const auto again = opened(copy);
    expect(again != nullptr, "a file is one still when values were put into it");
    for (std::uint64_t slot = 0; slot < live->shape().length; ++slot) {
      expect(value_of(copy, *again, slot) == value_of(os, *live, slot),
             "a later open sees the same");
    }
    seal(os, *live);
  }
  expect(os.is_at_rest(), "the file is closed and unmapped");
}

}  // namespace lastref::fuzz
