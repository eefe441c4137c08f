#include "impl/cache/entry_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <lastref/probe.hpp>

namespace lastref::cache {
namespace {

constexpr std::uint64_t alignment = 64;  // of the value
constexpr std::size_t digits = 16;       // hexadecimal, of a number of 8 bytes

constexpr std::uint64_t value_offset(std::uint64_t key_size) noexcept {
  return (sizeof(EntryHead) + key_size + alignment - 1) / alignment * alignment;
}

/// The last step of MurmurHash3.
constexpr std::uint64_t mixed(std::uint64_t number) noexcept {
  number = (number ^ number >> 33U) * 0xff51afd7ed558ccdU;
  number = (number ^ number >> 33U) * 0xc4ceb9fe1a85ec53U;
  return number ^ number >> 33U;
}

void append_digits(std::string& to, std::uint64_t number) {
  for (unsigned shift = 64; shift > 0;) {
    shift -= 4;
    to += "0123456789abcdef"[number >> shift & 15U];
  }
}

std::optional<std::uint64_t> number_in(std::string_view text) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  return is_number ? std::optional(number) : std::nullopt;
}

/// Whether a file of that size can have this head.
bool is_valid(const EntryHead& head, std::uint64_t size) noexcept {
  if (head.magic != EntryHead::valid_magic || head.key_size > size - sizeof(EntryHead)) {
    return false;
  }
  const std::uint64_t offset = value_offset(head.key_size);
  return offset <= size && head.value_size == size - offset;
}

}  // namespace

KeyHash hash_of(os::Bytes key) noexcept {
  // FNV-1a with 64 bits, and the same with another prime and another start.
  KeyHash hash{.high = 0xcbf29ce484222325U, .low = 0x9e3779b97f4a7c15U};
  for (const std::byte each : key) {
    const auto number = static_cast<std::uint64_t>(each);
    hash.high = (hash.high ^ number) * 0x100000001b3U;
    hash.low = (hash.low ^ number ^ hash.low >> 29U) * 0xd6e8feb86659fd93U;
  }
  return {.high = mixed(hash.high), .low = mixed(hash.low + key.size())};
}

std::string entry_name(const KeyHash& hash) {
  std::string name;
  name.reserve(2 * digits);
  append_digits(name, hash.high);
  append_digits(name, hash.low);
  return name;
}

std::optional<KeyHash> hash_named(std::string_view name) noexcept {
  if (name.size() != 2 * digits ||
      name.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return std::nullopt;
  }
  const auto high = number_in(name.substr(0, digits));
  const auto low = number_in(name.substr(digits));
  return KeyHash{.high = *high, .low = *low};
}

std::uint64_t entry_size(std::uint64_t key_size, std::uint64_t value_size) noexcept {
  return value_offset(key_size) + value_size;
}

Status write_entry(os::Os& os, os::Fd file, std::uint64_t use, os::Bytes key, os::Bytes value) {
  const EntryHead head{.magic = EntryHead::valid_magic,
                       .key_size = key.size(),
                       .value_size = value.size(),
                       .last_use = use};
  std::vector<std::byte> start(static_cast<std::size_t>(value_offset(key.size())));
  std::memcpy(start.data(), &head, sizeof(head));
  std::ranges::copy(key, start.begin() + sizeof(head));
  LASTREF_CHECK(os::write_all(os, file, start));
  return value.empty() ? ok() : os::write_all(os, file, value);
}

Result<std::optional<MappedEntry>> map_entry(os::Os& os, os::Fd file) {
  LASTREF_TRY(status, os.status(file));
  if (status.kind != os::FileKind::regular || status.size < sizeof(EntryHead)) {
    os.hit(Probe::bad_entry_refused);
    return std::optional<MappedEntry>();
  }
  LASTREF_TRY(mapped,
              os::map_memory(os,
                             {.file = file,
                              .offset = 0,
                              .size = static_cast<std::size_t>(status.size),
                              .kind = os::MapKind::read}));
  const auto map = std::make_shared<const os::UniqueMap>(std::move(mapped));
  const os::Bytes all = map->get();
  EntryHead head;
  std::memcpy(&head, all.data(), sizeof(head));
  if (!is_valid(head, status.size)) {
    os.hit(Probe::bad_entry_refused);
    return std::optional<MappedEntry>();
  }
  return MappedEntry{
      .bytes = {.key = all.subspan(sizeof(head), static_cast<std::size_t>(head.key_size)),
                .value = all.subspan(static_cast<std::size_t>(value_offset(head.key_size))),
                .keeper = map},
      .last_use = head.last_use};
}

namespace {

/// None if the file does not begin with one.
Result<std::optional<EntryHead>> read_head(os::Os& os, os::Fd file) {
  EntryHead head{};
  LASTREF_TRY(size,
              os::read_until_full_at(os, file, std::as_writable_bytes(std::span(&head, 1)), 0));
  const bool is_entry = size == sizeof(head) && head.magic == EntryHead::valid_magic;
  return is_entry ? std::optional(head) : std::nullopt;
}

}  // namespace

Result<bool> has_entry(os::Os& os, os::Fd file) {
  LASTREF_TRY(head, read_head(os, file));
  return head.has_value();
}

Result<std::uint64_t> read_last_use(os::Os& os, os::Fd file) {
  LASTREF_TRY(head, read_head(os, file));
  return head ? head->last_use : 0;
}

Status write_last_use(os::Os& os, os::Fd file, std::uint64_t use) noexcept {
  return os::write_all_at(
      os, file, std::as_bytes(std::span(&use, 1)), offsetof(EntryHead, last_use));
}

}  // namespace lastref::cache
