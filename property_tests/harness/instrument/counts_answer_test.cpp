// counts_answer_test: a process outside the tree reads exactly what a tracker answers. Under
// AddressSanitizer each reading also checks that nothing beyond the packet is read.
#include "harness/instrument/counts_answer.hpp"

#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "impl/tracker/codec.hpp"

namespace lastref::harness {
namespace {

/// An answer as the product encodes it.
std::vector<tracker::Packet> answer(std::size_t names) {
  tracker::Message reply{.verb = tracker::Verb::reply, .id = 1, .entries = {}};
  for (std::size_t number = 0; number < names; ++number) {
    const auto type = static_cast<ResourceType>(number % resource_types);
    reply.entries.push_back({.resource = {.type = type, .name = "/name " + std::to_string(number)},
                             .holder = static_cast<os::Pid>(7 + number),
                             .count = 1000 * number + 1});
  }
  return tracker::encode_split(reply);
}

TEST(CountsAnswer, asks_what_the_tracker_understands) {
  const auto asked = tracker::decode_message(std::as_bytes(std::span(counts_question)));
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->verb, tracker::Verb::counts);
  EXPECT_EQ(asked->id, 1U);
}

TEST(CountsAnswer, reads_every_entry_of_every_packet) {
  constexpr std::size_t names = 5000;
  const auto packets = answer(names);
  ASSERT_GT(packets.size(), 1U);
  std::vector<Counted> read;
  for (std::size_t at = 0; at < packets.size(); ++at) {
    EXPECT_EQ(read_counts(packets[at], read),
              at + 1 == packets.size() ? CountsPacket::last : CountsPacket::more_follow);
  }
  ASSERT_EQ(read.size(), names);
  for (std::size_t number = 0; number < names; ++number) {
    EXPECT_EQ(read[number].resource.name, "/name " + std::to_string(number));
    EXPECT_EQ(read[number].resource.type, static_cast<ResourceType>(number % resource_types));
    EXPECT_EQ(read[number].holder, static_cast<os::Pid>(7 + number));
    EXPECT_EQ(read[number].count, 1000 * number + 1);
  }
}

TEST(CountsAnswer, is_not_what_is_cut_short_or_says_something_else) {
  const tracker::Packet whole = answer(3).front();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(),
                                     whole.begin() + static_cast<std::ptrdiff_t>(size));
    std::vector<Counted> read;
    const CountsPacket what = read_counts(cut, read);
    EXPECT_TRUE(what == CountsPacket::malformed || read.size() < 3) << size;
  }
  std::vector<Counted> read;
  EXPECT_EQ(read_counts(std::as_bytes(std::span(counts_question)), read), CountsPacket::malformed);
  tracker::Packet of_no_type = whole;
  of_no_type[counts_question.size()] = std::byte{99};
  EXPECT_EQ(read_counts(of_no_type, read), CountsPacket::malformed);
}

TEST(CountsAnswer, is_not_a_refusal) {
  const auto refusal = tracker::encode_split({.verb = tracker::Verb::reply,
                                              .id = 1,
                                              .status = static_cast<std::uint32_t>(EMFILE),
                                              .entries = {}});
  ASSERT_EQ(refusal.size(), 1U);
  std::vector<Counted> read;
  EXPECT_EQ(read_counts(refusal.front(), read), CountsPacket::malformed);
}

}  // namespace
}  // namespace lastref::harness
