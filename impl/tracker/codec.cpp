#include "impl/tracker/codec.hpp"

#include <algorithm>
#include <concepts>
#include <type_traits>

namespace lastref::tracker {
namespace {

constexpr std::uint8_t version = 2;
constexpr std::uint16_t flag_more = 1;
constexpr std::uint16_t flag_again = 2;
constexpr std::uint16_t flags_known = flag_more | flag_again;
constexpr std::uint8_t entry_flag_identity = 1;

template <std::integral Number>
void put(Packet& packet, Number number) {
  using Unsigned = std::make_unsigned_t<Number>;
  auto rest = static_cast<Unsigned>(number);
  for (std::size_t index = 0; index < sizeof(Number); ++index) {
    packet.push_back(static_cast<std::byte>(rest & 0xffU));
    rest = static_cast<Unsigned>(static_cast<std::uint64_t>(rest) >> 8U);
  }
}

/// Reads numbers off the front; `whole()` is false once there were too few bytes.
class Reader {
 public:
  explicit Reader(os::Bytes bytes) noexcept : bytes_(bytes) {}

  template <std::unsigned_integral Number>
  Number take() noexcept {
    if (bytes_.size() < sizeof(Number)) {
      whole_ = false;
      bytes_ = {};
      return 0;
    }
    std::uint64_t number = 0;
    for (std::size_t index = sizeof(Number); index > 0; --index) {
      number = number << 8U | std::to_integer<std::uint64_t>(bytes_[index - 1]);
    }
    bytes_ = bytes_.subspan(sizeof(Number));
    return static_cast<Number>(number);
  }

  std::string text(std::size_t size) {
    if (bytes_.size() < size) {
      whole_ = false;
      bytes_ = {};
      return {};
    }
    std::string taken(size, '\0');
    std::ranges::transform(
        bytes_.first(size), taken.begin(), [](std::byte byte) { return static_cast<char>(byte); });
    bytes_ = bytes_.subspan(size);
    return taken;
  }

  bool whole() const noexcept { return whole_; }
  bool at_end() const noexcept { return bytes_.empty(); }

 private:
  os::Bytes bytes_;
  bool whole_ = true;
};

tl::unexpected<Error> malformed(const char* reason) {
  return failure(std::errc::bad_message, reason);
}

Result<MessageEntry> decode_entry(Reader& reader) {
  const auto type = reader.take<std::uint8_t>();
  const auto flags = reader.take<std::uint8_t>();
  const auto size = reader.take<std::uint16_t>();
  const auto holder = reader.take<std::uint32_t>();
  const auto count = reader.take<std::uint64_t>();
  std::optional<Identity> identity;
  if ((flags & entry_flag_identity) != 0) {
    identity = {.device = reader.take<std::uint64_t>(),
                .inode = reader.take<std::uint64_t>(),
                .btime = reader.take<std::uint64_t>()};
  }
  MessageEntry entry{
      .resource = {.type = static_cast<ResourceType>(type), .name = reader.text(size)},
      .holder = static_cast<os::Pid>(holder),
      .count = count,
      .identity = identity,
  };
  if (!reader.whole()) {
    return malformed("an entry is cut short");
  }
  if (type >= resource_types) {
    return malformed("unknown resource type");
  }
  if ((flags & ~entry_flag_identity) != 0) {
    return malformed("unknown flags of an entry");
  }
  if (count == 0) {
    return malformed("a count of 0");
  }
  if (count > count_max) {
    return malformed("an impossible count");
  }
  if (!check_name(entry.resource)) {
    return malformed("an impossible name");
  }
  return entry;
}

}  // namespace

Packet encode_message(const Message& message) {
  Packet packet;
  packet.reserve(128);
  put(packet, version);
  put(packet, static_cast<std::uint8_t>(message.verb));
  put(packet,
      static_cast<std::uint16_t>((message.more ? flag_more : 0) |
                                 (message.again ? flag_again : 0)));
  put(packet, message.id);
  put(packet, message.status);
  for (const MessageEntry& entry : message.entries) {
    put(packet, static_cast<std::uint8_t>(entry.resource.type));
    put(packet, entry.identity ? entry_flag_identity : std::uint8_t{0});
    put(packet, static_cast<std::uint16_t>(entry.resource.name.size()));
    put(packet, entry.holder);
    put(packet, entry.count);
    if (entry.identity) {
      put(packet, entry.identity->device);
      put(packet, entry.identity->inode);
      put(packet, entry.identity->btime);
    }
    const os::Bytes name = std::as_bytes(std::span(entry.resource.name));
    packet.insert(packet.end(), name.begin(), name.end());
  }
  LASTREF_ASSERT(packet.size() <= packet_size_max);
  return packet;
}

std::array<std::byte, header_size> encode_reply(std::uint32_t id, std::errc status) noexcept {
  std::array<std::byte, header_size> packet{};
  packet[0] = std::byte{version};
  packet[1] = static_cast<std::byte>(Verb::reply);
  constexpr std::size_t id_at = 4;
  constexpr std::size_t status_at = 8;
  for (std::size_t index = 0; index < sizeof id; ++index) {
    const auto shift = static_cast<unsigned>(8 * index);
    packet[id_at + index] = static_cast<std::byte>(id >> shift & 0xffU);
    packet[status_at + index] =
        static_cast<std::byte>(static_cast<std::uint32_t>(status) >> shift & 0xffU);
  }
  return packet;
}

static_assert(os::usual_limits.packet_size <= packet_size_max);

std::vector<Packet> encode_split(const Message& message, const os::Limits& limits) {
  std::vector<Packet> packets;
  Message part = message;
  part.entries.clear();
  std::size_t size = header_size;
  for (const MessageEntry& entry : message.entries) {
    const std::size_t more =
        entry_header_size + (entry.identity ? identity_size : 0) + entry.resource.name.size();
    if (size + more > limits.packet_size && !part.entries.empty()) {
      part.more = true;
      packets.push_back(encode_message(part));
      part.entries.clear();
      size = header_size;
    }
    part.entries.push_back(entry);
    size += more;
  }
  part.more = false;
  packets.push_back(encode_message(part));
  return packets;
}

Result<Message> decode_message(os::Bytes packet) {
  Reader reader(packet);
  if (packet.size() > packet_size_max) {
    return malformed("too long");
  }
  const auto spoken = reader.take<std::uint8_t>();
  const auto verb = reader.take<std::uint8_t>();
  const auto flags = reader.take<std::uint16_t>();
  Message message;
  message.id = reader.take<std::uint32_t>();
  message.status = reader.take<std::uint32_t>();
  if (!reader.whole()) {
    return malformed("shorter than a header");
  }
  if (spoken != version) {
    return malformed("another version of the protocol");
  }
  if (verb < static_cast<std::uint8_t>(Verb::announce) ||
      verb > static_cast<std::uint8_t>(Verb::identify)) {
    return malformed("unknown verb");
  }
  if ((flags & ~flags_known) != 0) {
    return malformed("unknown flags");
  }
  message.verb = static_cast<Verb>(verb);
  message.more = (flags & flag_more) != 0;
  message.again = (flags & flag_again) != 0;
  while (!reader.at_end()) {
    LASTREF_TRY(entry, decode_entry(reader));
    message.entries.push_back(std::move(entry));
  }
  return message;
}

std::optional<std::uint32_t> asked_in(os::Bytes packet) noexcept {
  Reader reader(packet);
  static_cast<void>(reader.take<std::uint8_t>());
  const auto verb = static_cast<Verb>(reader.take<std::uint8_t>());
  static_cast<void>(reader.take<std::uint16_t>());
  const auto id = reader.take<std::uint32_t>();
  static_cast<void>(reader.take<std::uint32_t>());
  const bool asks = verb == Verb::announce || verb == Verb::register_ || verb == Verb::forget ||
                    verb == Verb::counts || verb == Verb::probe || verb == Verb::identify;
  return reader.whole() && asks ? std::optional(id) : std::nullopt;
}

bool is_announcement(os::Bytes packet) noexcept {
  return packet.size() > 1 && packet[1] == static_cast<std::byte>(Verb::announce);
}

bool is_of_another_version(os::Bytes packet) noexcept {
  return !packet.empty() && packet.front() != std::byte{version};
}

}  // namespace lastref::tracker
