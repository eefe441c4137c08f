// codec_test: packets of the native protocol: good, damaged and forged. Under AddressSanitizer,
// every decode also checks that nothing beyond the packet is read.
#include "impl/tracker/codec.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <ostream>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "property_tests/impl/tracker/generators.hpp"

namespace lastref::tracker {
namespace {

using pretend::any_message;

/// From heap memory that ends where the packet ends.
Result<Message> decode_exactly(os::Bytes packet) {
  const std::unique_ptr<std::byte[]> alone(new std::byte[packet.size()]);
  std::ranges::copy(packet, alone.get());
  return decode_message(os::Bytes(alone.get(), packet.size()));
}

Packet packet_of(std::initializer_list<int> bytes) {
  Packet packet;
  for (const int byte : bytes) {
    packet.push_back(static_cast<std::byte>(byte));
  }
  return packet;
}

/// A packet that decode accepts is the one that encode makes: no two packets mean the same.
void refused_or_canonical(const Packet& packet) {
  const auto decoded = decode_exactly(packet);
  if (decoded) {
    RC_ASSERT(encode_message(*decoded) == packet);
  } else {
    RC_ASSERT(decoded.error().code == std::errc::bad_message);
    RC_ASSERT(!decoded.error().subject.empty());
  }
}

TEST(Codec, speaks_as_its_header_comment_shows_T2) {
  const Message release{
      .verb = Verb::release,
      .id = 7,
      .entries = {{.resource = {.type = ResourceType::file, .name = "/a"}}},
  };
  const Packet packet = packet_of({2, 4, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0,    2,
                                   0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x2f, 0x61});
  EXPECT_EQ(encode_message(release), packet);
  const auto decoded = decode_exactly(packet);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, release);
}

RC_GTEST_PROP(CodecProperties, any_message_arrives_as_it_was_sent_T2, ()) {
  const Message message = *any_message(5);
  const auto decoded = decode_exactly(encode_message(message));
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == message);
}

TEST(Codec, carries_names_of_one_byte_of_the_longest_and_of_every_byte_but_nul_T2) {
  std::string every_byte;
  for (int byte = 1; byte < 256; ++byte) {
    every_byte += static_cast<char>(byte);
  }
  for (const std::string& name : {std::string("\n"),
                                  std::string(":"),
                                  std::string("\xff"),
                                  every_byte,
                                  std::string(name_size_max, '\n')}) {
    const Message message{
        .verb = Verb::register_,
        .entries = {{.resource = {.type = ResourceType::shm, .name = name}}},
    };
    const auto decoded = decode_exactly(encode_message(message));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, message);
  }
}

RC_GTEST_PROP(CodecProperties,
              a_split_message_keeps_its_entries_in_order_in_packets_that_fit_T2,
              ()) {
  const Message message = *any_message(150);
  const std::vector<Packet> packets = encode_split(message);
  RC_ASSERT(!packets.empty());
  Message whole = message;
  whole.more = false;
  whole.entries.clear();
  for (std::size_t index = 0; index < packets.size(); ++index) {
    RC_ASSERT(packets[index].size() <= packet_size_max);
    auto part = decode_exactly(packets[index]);
    RC_ASSERT(part.has_value());
    const bool is_last = index + 1 == packets.size();
    RC_ASSERT(part->more == !is_last);
    std::ranges::move(part->entries, std::back_inserter(whole.entries));
    part->more = false;
    part->entries = whole.entries;
    RC_ASSERT(*part == whole);
  }
  RC_ASSERT(whole.entries == message.entries);
}

TEST(Codec, a_split_message_wastes_no_packets_T2) {
  Message message{.verb = Verb::announce, .entries = {}};
  EXPECT_EQ(encode_split(message).size(), 1U);
  // Seven of the longest names fit into one packet.
  const MessageEntry longest{
      .resource = {.type = ResourceType::file, .name = std::string(name_size_max, 'x')}};
  message.entries.assign(7, longest);
  EXPECT_EQ(encode_split(message).size(), 1U);
  message.entries.push_back(longest);
  EXPECT_EQ(encode_split(message).size(), 2U);
  // Fills the packet to its last byte.
  const std::size_t filled = header_size + 7 * (entry_header_size + name_size_max);
  const std::size_t left = packet_size_max - filled - entry_header_size;
  message.entries.back().resource.name.resize(left);
  ASSERT_EQ(encode_split(message).size(), 1U);
  EXPECT_EQ(encode_split(message).front().size(), packet_size_max);
  message.entries.back().resource.name.resize(left + 1);
  EXPECT_EQ(encode_split(message).size(), 2U);
}

RC_GTEST_PROP(CodecProperties, a_packet_that_was_cut_is_refused_or_ends_between_entries_T2, ()) {
  const Message message = *any_message(3);
  const Packet packet = encode_message(message);
  std::vector<std::size_t> ends{header_size};
  for (const MessageEntry& entry : message.entries) {
    const std::size_t identity = entry.identity ? 24 : 0;
    ends.push_back(ends.back() + entry_header_size + identity + entry.resource.name.size());
  }
  for (std::size_t size = 0; size < packet.size(); ++size) {
    const auto decoded = decode_exactly(os::Bytes(packet).first(size));
    const auto end = std::ranges::find(ends, size);
    RC_ASSERT(decoded.has_value() == (end != ends.end()));
    if (decoded) {
      Message start = message;
      start.entries.resize(static_cast<std::size_t>(end - ends.begin()));
      RC_ASSERT(*decoded == start);
    }
  }
}

RC_GTEST_PROP(CodecProperties,
              a_packet_with_one_wrong_byte_is_refused_or_means_what_it_says_T4,
              ()) {
  Message message = *any_message(2);
  for (MessageEntry& entry : message.entries) {
    entry.resource.name.resize(std::min<std::size_t>(entry.resource.name.size(), 30));
  }
  const Packet packet = encode_message(message);
  for (std::size_t at = 0; at < packet.size(); ++at) {
    for (const int change : {0x01, 0x02, 0x10, 0x80, 0xff}) {
      Packet wrong = packet;
      wrong[at] ^= static_cast<std::byte>(change);
      refused_or_canonical(wrong);
    }
  }
}

RC_GTEST_PROP(CodecProperties, any_bytes_are_refused_or_mean_what_they_say_T4, ()) {
  Packet packet = packet_of({1, *rc::gen::inRange(0, 11), *rc::gen::inRange(0, 5), 0});
  for (const std::uint8_t byte : *rc::gen::arbitrary<std::vector<std::uint8_t>>()) {
    packet.push_back(static_cast<std::byte>(byte));
  }
  refused_or_canonical(packet);
}

struct Forged {
  const char* name;
  std::function<void(Packet&)> forge;  ///< Alters a good packet with two entries.
  const char* reason;
};

void PrintTo(const Forged& forged, std::ostream* out) {
  *out << forged.name;
}

constexpr std::size_t first_entry = header_size;
constexpr std::size_t first_name = header_size + entry_header_size;

void set(Packet& packet, std::size_t at, int byte) {
  packet.at(at) = static_cast<std::byte>(byte);
}

const Forged forged_packets[] = {
    {"empty", [](Packet& packet) { packet.clear(); }, "shorter than a header"},
    {"half_a_header", [](Packet& packet) { packet.resize(11); }, "shorter than a header"},
    {"version_0", [](Packet& packet) { set(packet, 0, 0); }, "another version of the protocol"},
    {"version_1", [](Packet& packet) { set(packet, 0, 1); }, "another version of the protocol"},
    {"verb_0", [](Packet& packet) { set(packet, 1, 0); }, "unknown verb"},
    {"verb_11", [](Packet& packet) { set(packet, 1, 11); }, "unknown verb"},
    {"verb_255", [](Packet& packet) { set(packet, 1, 255); }, "unknown verb"},
    {"flag_4", [](Packet& packet) { set(packet, 2, 4); }, "unknown flags"},
    {"flag_in_the_second_byte", [](Packet& packet) { set(packet, 3, 1); }, "unknown flags"},
    {"type_5", [](Packet& packet) { set(packet, first_entry, 5); }, "unknown resource type"},
    {"type_255", [](Packet& packet) { set(packet, first_entry, 255); }, "unknown resource type"},
    {"flag_2_of_an_entry",
     [](Packet& packet) { set(packet, first_entry + 1, 2); },
     "unknown flags of an entry"},
    {"identity_that_is_not_there",
     [](Packet& packet) { set(packet, first_entry + 1, 1); },
     "an entry is cut short"},
    {"count_0", [](Packet& packet) { set(packet, first_entry + 8, 0); }, "a count of 0"},
    {"count_2_to_the_32",
     [](Packet& packet) { set(packet, first_entry + 12, 1); },
     "an impossible count"},
    {"count_2_to_the_63",
     [](Packet& packet) { set(packet, first_entry + 15, 0x80); },
     "an impossible count"},
    {"nul_in_the_name", [](Packet& packet) { set(packet, first_name, 0); }, "an impossible name"},
    {"no_name",
     [](Packet& packet) {
       packet.resize(first_name);
       set(packet, first_entry + 2, 0);
     },
     "an impossible name"},
    {"overlong_name",
     [](Packet& packet) {
       packet.resize(first_name + name_size_max + 1, std::byte{'x'});
       set(packet, first_entry + 2, 0x01);
       set(packet, first_entry + 3, 0x10);
     },
     "an impossible name"},
    {"name_beyond_the_end",
     [](Packet& packet) {
       set(packet, first_entry + 2, 0xff);
       set(packet, first_entry + 3, 0xff);
     },
     "an entry is cut short"},
    {"half_an_entry",
     [](Packet& packet) { packet.resize(first_entry + 5); },
     "an entry is cut short"},
    {"one_byte_behind",
     [](Packet& packet) { packet.push_back(std::byte{0}); },
     "an entry is cut short"},
    {"longer_than_any", [](Packet& packet) { packet.resize(packet_size_max + 1); }, "too long"},
};

class ForgedPacket : public testing::TestWithParam<Forged> {};

TEST_P(ForgedPacket, is_refused_with_its_reason_T4) {
  Packet packet = encode_message({
      .verb = Verb::register_,
      .id = 1,
      .entries = {{.resource = {.type = ResourceType::file, .name = "/tmp/a"}},
                  {.resource = {.type = ResourceType::shm, .name = "/b"}}},
  });
  ASSERT_TRUE(decode_exactly(packet));
  GetParam().forge(packet);
  const auto decoded = decode_exactly(packet);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, std::errc::bad_message);
  EXPECT_EQ(decoded.error().subject, GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(Codec,
                         ForgedPacket,
                         testing::ValuesIn(forged_packets),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace lastref::tracker
