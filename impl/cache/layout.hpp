// layout: the offsets in the file of a live cache. See live_file.hpp for their meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <lastref/os.hpp>

namespace lastref::cache {

inline constexpr std::string_view live_magic = "lastrefC";
inline constexpr std::uint32_t live_version = 2;
inline constexpr std::size_t id_size = 32;
inline constexpr std::size_t head_size = 72;
inline constexpr std::size_t end_at = 128;
inline constexpr std::size_t last_at = 136;
inline constexpr std::size_t frozen_at = 192;
inline constexpr std::size_t slots_at = 256;
inline constexpr std::uint64_t word_size = sizeof(std::uint64_t);
inline constexpr std::uint64_t record_alignment = 16;
inline constexpr std::uint64_t record_head_size = 16;
/// Larger than any file, and the sum of two such numbers does not overflow.
inline constexpr std::uint64_t offset_max = std::uint64_t{1} << 62U;

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
constexpr bool is_offset(std::uint64_t at, std::uint64_t length) noexcept {
  return at % record_alignment == 0 && at >= records_at(length) && at <= offset_max;
}

/// The head of a record has two words. Each has 16 bits of the slot above 48 bits of its own
/// number.
struct RecordHead {
  std::uint64_t size = 0;    ///< bytes of the value; below 2^48
  std::uint64_t slot = 0;    ///< below 2^32
  std::uint64_t before = 0;  ///< bytes counted before this record; a multiple of 16, below 2^52
};

inline constexpr unsigned number_bits = 48;
inline constexpr unsigned slot_bits = 16;
inline constexpr std::uint64_t number_mask = (std::uint64_t{1} << number_bits) - 1;
inline constexpr std::uint64_t value_size_max = number_mask;

/// `into` has space for record_head_size bytes.
inline void pack(const RecordHead& head, std::byte* into) noexcept {
  constexpr std::uint64_t low_slot = (std::uint64_t{1} << slot_bits) - 1;
  const std::uint64_t first = head.size | (head.slot & low_slot) << number_bits;
  const std::uint64_t second = head.before / record_alignment | (head.slot >> slot_bits)
                                                                    << number_bits;
  std::memcpy(into, &first, word_size);
  std::memcpy(into + word_size, &second, word_size);
}

inline RecordHead record_head_of(os::Bytes bytes) noexcept {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::memcpy(&first, bytes.data(), word_size);
  std::memcpy(&second, bytes.data() + word_size, word_size);
  return {.size = first & number_mask,
          .slot = first >> number_bits | (second >> number_bits) << slot_bits,
          .before = (second & number_mask) * record_alignment};
}

}  // namespace lastref::cache
