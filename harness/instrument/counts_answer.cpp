#include "harness/instrument/counts_answer.hpp"

#include <concepts>
#include <utility>

namespace lastref::harness {
namespace {

constexpr std::size_t header_size = 12;
constexpr std::size_t entry_size = 16;
constexpr std::byte verb_reply{9};
constexpr std::uint16_t flag_more = 1;
constexpr std::size_t status_at = 8;
constexpr std::size_t types = 5;

template <std::unsigned_integral Number>
Number number_at(std::span<const std::byte> bytes, std::size_t at) noexcept {
  std::uint64_t number = 0;
  for (std::size_t index = sizeof(Number); index > 0; --index) {
    number = number << 8U | std::to_integer<std::uint64_t>(bytes[at + index - 1]);
  }
  return static_cast<Number>(number);
}

/// Adds a packet's entries; false if it is malformed.
bool read_entries(std::span<const std::byte> packet, std::vector<Counted>& into) {
  std::size_t at = header_size;
  while (at < packet.size()) {
    if (packet.size() - at < entry_size) {
      return false;
    }
    const auto type = std::to_integer<std::size_t>(packet[at]);
    const auto size = number_at<std::uint16_t>(packet, at + 2);
    if (type >= types || packet.size() - at - entry_size < size) {
      return false;
    }
    Counted counted;
    counted.resource.type = static_cast<ResourceType>(type);
    for (const std::byte byte : packet.subspan(at + entry_size, size)) {
      counted.resource.name.push_back(static_cast<char>(byte));
    }
    counted.holder = static_cast<os::Pid>(number_at<std::uint32_t>(packet, at + 4));
    counted.count = number_at<std::uint64_t>(packet, at + 8);
    into.push_back(std::move(counted));
    at += entry_size + size;
  }
  return true;
}

}  // namespace

CountsPacket read_counts(std::span<const std::byte> packet, std::vector<Counted>& into) {
  const bool is_reply = packet.size() >= header_size && packet[1] == verb_reply;
  // A tracker without a descriptor for us refuses and gives the reason; that is not an empty count.
  if (!is_reply || number_at<std::uint32_t>(packet, status_at) != 0 ||
      !read_entries(packet, into)) {
    return CountsPacket::malformed;
  }
  const bool more = (number_at<std::uint16_t>(packet, 2) & flag_more) != 0;
  return more ? CountsPacket::more_follow : CountsPacket::last;
}

}  // namespace lastref::harness
