// counts_answer: the request for the counts of a tracker, and its reply, for observers outside the
// product.
//
// It knows the protocol only from its description, and shares no code with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <lastref/os.hpp>

namespace lastref::harness {

/// One packet: `counts`, with request id 1.
inline constexpr std::array<std::uint8_t, 12> counts_question = {
    2, 6, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
/// The maximum size of a packet of a reply.
inline constexpr std::size_t counts_packet_max = std::size_t{64} * 1024;

struct Counted {
  Resource resource;
  os::Pid holder = 0;
  std::uint64_t count = 0;
};

enum class CountsPacket : std::uint8_t { malformed, more_follow, last };

/// Adds the entries of a packet.
CountsPacket read_counts(std::span<const std::byte> packet, std::vector<Counted>& into);

}  // namespace lastref::harness
