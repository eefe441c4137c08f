// The readers of caches: of the live file, and of a preserved one.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "harness/oracle/file_readers.hpp"

namespace lastref::harness::oracle {
namespace {

constexpr std::size_t word_size = 8;

// Of a live file.
constexpr std::string_view magic = "lastrefC";
constexpr std::uint64_t version = 2;
constexpr std::size_t version_at = 8;
constexpr std::size_t length_at = 16;
constexpr std::size_t flags_at = 32;
constexpr std::size_t id_at = 40;
constexpr std::size_t id_size = 32;
constexpr std::size_t end_at = 128;
constexpr std::size_t last_at = 136;
constexpr std::size_t frozen_at = 192;
constexpr std::size_t slots_at = 256;
constexpr std::uint64_t record_alignment = 16;
constexpr std::uint64_t record_head_size = 16;
constexpr std::uint64_t empty = 0;
constexpr std::uint64_t sealed = 1;
constexpr std::uint64_t frozen = 2;
constexpr unsigned size_bits = 48;
constexpr std::uint64_t words_are_elsewhere = 256;  // and more, in the flags

// Of a preserved one.
constexpr std::size_t entry_size = 16;

/// The places of values, to find two that share bytes.
using Extents = std::set<std::pair<std::uint64_t, std::uint64_t>>;

bool any_overlap(const Extents& extents) {
  std::uint64_t end = 0;
  return std::ranges::any_of(
      extents, [&end](const auto& each) { return each.first < std::exchange(end, each.second); });
}

std::string slot_text(std::uint64_t slot) {
  return "slot " + std::to_string(slot);
}

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The content of the record at that place, if it is whole and belongs to the slot.
ReadFile<std::string_view> value_at(std::string_view bytes, std::uint64_t at, std::uint64_t slot) {
  const std::uint64_t end = number_in(bytes, end_at, word_size);
  if (at % record_alignment != 0 || at > bytes.size() || bytes.size() - at < record_head_size) {
    return not_whole(slot_text(slot) + " points at no record");
  }
  const std::uint64_t first = number_in(bytes, at, word_size);
  const std::uint64_t second = number_in(bytes, at + word_size, word_size);
  const std::uint64_t size = first & ((std::uint64_t{1} << size_bits) - 1);
  const std::uint64_t owner = first >> size_bits | second >> size_bits << (64 - size_bits);
  if (owner != slot) {
    return not_whole(slot_text(slot) + " points at a record of " + slot_text(owner));
  }
  if (size > bytes.size() - at - record_head_size || at + record_head_size + size > end) {
    return not_whole(slot_text(slot) + " has a value that is cut short");
  }
  return bytes.substr(at + record_head_size, size);
}

std::optional<std::string> what_is_wrong_with_head(std::string_view bytes) {
  const std::uint64_t length = number_in(bytes, length_at, word_size);
  if (number_in(bytes, version_at, word_size) != version ||
      !is_hexadecimal(bytes.substr(id_at, id_size))) {
    return "an unreadable head";
  }
  if (length == 0 || length > (bytes.size() - slots_at) / word_size) {
    return "it ends before its " + std::to_string(length) + " slots do";
  }
  if (number_in(bytes, end_at, word_size) < slots_at + length * word_size) {
    return "according to its head, its values begin among its slots";
  }
  if (number_in(bytes, frozen_at, word_size) > frozen) {
    return "its head has an unknown value for frozen";
  }
  const std::uint64_t last = number_in(bytes, last_at, word_size);
  return last > bytes.size() ? std::optional<std::string>("the last value ends after the file")
                             : std::nullopt;
}

}  // namespace

ReadFile<LiveCache> read_live_cache(std::string_view bytes) {
  if (bytes.size() < slots_at || !bytes.starts_with(magic)) {
    return not_whole("not a file of a cache");
  }
  if (number_in(bytes, flags_at, word_size) >= words_are_elsewhere) {
    return LiveCache();  // Its slots are in another file.
  }
  if (std::optional<std::string> wrong = what_is_wrong_with_head(bytes)) {
    return not_whole(*std::move(wrong));
  }
  LiveCache cache{.is_frozen = number_in(bytes, frozen_at, word_size) == frozen};
  Extents extents;
  const std::uint64_t length = number_in(bytes, length_at, word_size);
  for (std::uint64_t slot = 0; slot < length; ++slot) {
    const std::uint64_t at = number_in(bytes, slots_at + slot * word_size, word_size);
    if (at == empty && cache.is_frozen) {
      return not_whole(slot_text(slot) + " takes values, though the cache is frozen");
    }
    if (at == empty || at == sealed) {
      continue;
    }
    const ReadFile<std::string_view> value = value_at(bytes, at, slot);
    if (!value || at < slots_at + length * word_size) {
      return not_whole(value ? slot_text(slot) + " points among the slots" : value.error());
    }
    extents.emplace(at, at + record_head_size + value->size());
    cache.values.push_back({.slot = slot, .bytes = *value});
  }
  return any_overlap(extents) ? ReadFile<LiveCache>(not_whole("two of its values share bytes"))
                              : std::move(cache);
}

ReadFile<std::vector<StoredValue>> read_preserved_cache(std::string_view bytes) {
  std::vector<StoredValue> values;
  Extents extents;
  std::uint64_t entries_end = bytes.size();  // until a value gives a lower bound
  std::uint64_t stored = 0;
  std::uint64_t slot = 0;
  for (; (slot + 1) * entry_size <= entries_end; ++slot) {
    const std::uint64_t at = number_in(bytes, slot * entry_size, word_size);
    const auto size =
        static_cast<std::int64_t>(number_in(bytes, slot * entry_size + word_size, word_size));
    if (size < 0) {
      if (at != 0 || size != -1) {
        return not_whole(slot_text(slot) + " is neither empty nor full");
      }
      continue;
    }
    if (at > bytes.size() || static_cast<std::uint64_t>(size) > bytes.size() - at) {
      return not_whole(slot_text(slot) + " has a value that is cut short");
    }
    entries_end = std::min(entries_end, at);
    stored += static_cast<std::uint64_t>(size);
    extents.emplace(at, at + static_cast<std::uint64_t>(size));
    values.push_back({.slot = slot, .bytes = bytes.substr(at, static_cast<std::size_t>(size))});
  }
  if (any_overlap(extents)) {
    return not_whole("two of its values share bytes");
  }
  if (slot * entry_size != entries_end || entries_end + stored != bytes.size()) {
    return not_whole("its entries and values do not fill it");
  }
  return values;
}

}  // namespace lastref::harness::oracle
