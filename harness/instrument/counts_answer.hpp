// counts_answer: the question of what a tracker counts, and its answer, for those who ask from
// outside.
//
// Knows the protocol from its description only, and shares no code with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <lastref/os.hpp>

namespace lastref::harness {

/// One packet: `counts`, with 1 for its id.
inline constexpr std::array<std::uint8_t, 12> counts_question = {
    2, 6, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
/// An answer's packets are no longer.
inline constexpr std::size_t counts_packet_max = std::size_t{64} * 1024;

struct Counted {
  Resource resource;
  os::Pid holder = 0;
  std::uint64_t count = 0;
};

enum class CountsPacket : std::uint8_t { malformed, more_follow, last };

/// Adds what a packet says.
CountsPacket read_counts(std::span<const std::byte> packet, std::vector<Counted>& into);

}  // namespace lastref::harness
