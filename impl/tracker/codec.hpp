// The native protocol: one message a packet, whole or absent.
//
// A packet is a header and then entries; all numbers are little-endian.
//   header  version u8 (2), verb u8, flags u16, id u32, status u32 (an errno, in replies)
//   entry   type u8, flags u8, size of the name u16, holder i32, count u64, then the identity of
//           the resource if flag 1 is set (device u64, inode u64, time of birth u64), then the name
// For example `release file:/a` with id 7 is 02 04 0000 07000000 00000000 | 00 00 0200 00000000
// 0100000000000000 2f 61. Names are any bytes but NUL, so nothing in a name can end a message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

#include <lastref/os.hpp>
#include <lastref/resource.hpp>

#include "impl/os/limits.hpp"

namespace lastref::tracker {

/// bytes; of a resource, in messages and in the ledger: device, inode and time of birth
inline constexpr std::size_t identity_size = 24;

enum class Verb : std::uint8_t {
  announce = 1,   ///< This process (its descriptor is attached) holds these names. Answered.
  register_ = 2,  ///< +1, creates. Answered.
  hold = 3,       ///< +1 on known names.
  release = 4,    ///< −1.
  forget = 5,     ///< Ends names. Answered. From the tracker: another process has ended them.
  counts = 6,     ///< Requests all counts. Answered, in as many packets as needed.
  probe = 7,      ///< Answered.
  leave = 8,      ///< Releases everything; the connection ends after it.
  reply = 9,      ///< Sent by the tracker.
  identify = 10,  ///< Sets the identity of the resource. Answered.
};

struct MessageEntry {
  Resource resource;
  os::Pid holder = 0;
  std::uint64_t count = 1;
  std::optional<Identity> identity = {};

  bool operator==(const MessageEntry&) const = default;
};

struct Message {
  Verb verb = Verb::probe;
  bool more = false;  ///< announce, reply: another packet of the same follows.
  /// Sent once before, to a tracker that may have died with it. In an announcement: such requests
  /// follow, and then one more announcement, which is empty. Before that, it is unknown what the
  /// sender is about to hold.
  bool again = false;
  std::uint32_t id = 0;
  std::uint32_t status = 0;  ///< errno
  std::vector<MessageEntry> entries;

  bool operator==(const Message&) const = default;
};

/// Bytes; no tracker sends or accepts a larger packet, so each fits into a socket's buffer. One
/// with several entries is not larger than the limit packet_size.
inline constexpr std::size_t packet_size_max = std::size_t{32} * 1024;
inline constexpr std::size_t header_size = 12;
inline constexpr std::size_t entry_header_size = 16;
/// References in one entry; no sum of them overflows while a tracker runs.
inline constexpr std::uint64_t count_max = 0xffff'ffff;

using Packet = std::vector<std::byte>;

/// One packet. The entries must fit (see encode_split) and their names must be valid.
Packet encode_message(const Message& message);

/// A reply without entries.
std::array<std::byte, header_size> encode_reply(std::uint32_t id, std::errc status) noexcept;

/// Returns as many packets as the entries need, all but the last marked `more`; at least one.
std::vector<Packet> encode_split(const Message& message,
                                 const os::Limits& limits = os::usual_limits);

/// Errors          bad_message, with the reason as subject.
Result<Message> decode_message(os::Bytes packet);

bool is_of_another_version(os::Bytes packet) noexcept;
bool is_announcement(os::Bytes packet) noexcept;

/// The id of a packet that expects an answer, whatever else is wrong with it.
std::optional<std::uint32_t> asked_in(os::Bytes packet) noexcept;

}  // namespace lastref::tracker
