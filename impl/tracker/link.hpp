// Link: one end of a connection with the native protocol. Both sides use it.
//
// Sending never waits: what the socket does not accept is queued, and the owner polls for space. If
// a socket repeatedly reports a false state (readable, but nothing to read; writable, but no
// space), the link counts as broken after a while, so that no fault makes a loop spin. A link that
// has lost a message because there was no memory counts as broken too: the messages on a new
// connection replace it.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <lastref/owners.hpp>

#include "impl/tracker/codec.hpp"

namespace lastref::tracker {

enum class Arrival : std::uint8_t { message, malformed, nothing, end };

class Link {
 public:
  Link(os::Os& os, os::UniqueFd socket) noexcept : os_(&os), socket_(std::move(socket)) {}

  os::Fd fd() const noexcept { return socket_.get(); }
  bool wants_space() const noexcept { return !queue_.empty(); }
  /// The peer has closed its end, or the socket can no longer be used.
  bool broken() const noexcept { return broken_; }

  /// Sends or queues. `fds` are sent with it only if nothing is queued; the caller keeps them.
  void post(Packet packet, std::span<const os::Fd> fds = {}) noexcept;
  /// The same. Without memory for the packet, the link is broken.
  void post(const Message& message) noexcept;
  /// The same for a reply without entries.
  void reply(std::uint32_t id, std::errc status) noexcept;
  /// Sends queued messages while there is space.
  void flush() noexcept;
  /// Nothing more is sent or received.
  void give_up() noexcept {
    broken_ = true;
    has_last_words_ = false;
  }

  /// Only what the peer had sent before sending to it failed can still be received. Does nothing if
  /// the end was already received.
  void receive_the_rest() noexcept;

  /// From now on, what a peer had sent before it closed its end is received also after sending to
  /// it has failed.
  void read_to_the_end() noexcept { reads_to_the_end_ = true; }

  /// The next message. After `message`, see `received` and `received_fds`; after `malformed`,
  /// `reason`, which is empty if there was no memory for the message. If there is no memory for a
  /// message that expects no answer, the link is broken.
  Arrival receive() noexcept;
  Message& received() noexcept { return received_; }
  std::vector<os::UniqueFd>& received_fds() noexcept { return received_fds_; }
  const std::string& reason() const noexcept { return reason_; }
  /// After `malformed`: the id that the peer waits for an answer to, if it is known, and the status
  /// to refuse it with.
  struct Refusal {
    std::uint32_t id = 0;
    std::errc why = std::errc::bad_message;
  };
  const std::optional<Refusal>& refusal() const noexcept { return refusal_; }

 private:
  bool send(os::Bytes packet, std::span<const os::Fd> fds) noexcept;
  void put_off(Packet packet) noexcept;
  Arrival read(os::Bytes packet, bool is_truncated);
  Arrival spoil(os::Bytes packet, std::string reason, std::errc why) noexcept;
  void was_fruitless() noexcept;

  os::Os* os_;
  os::UniqueFd socket_;
  std::list<Packet> queue_;
  Message received_;
  std::vector<os::UniqueFd> received_fds_;
  std::string reason_;
  std::optional<Refusal> refusal_;
  int fruitless_ = 0;
  bool reads_to_the_end_ = false;
  bool has_last_words_ = false;  ///< It is broken for sending; what has arrived is received first.
  bool broken_ = false;
  bool ended_ = false;
};

/// The size of the buffer into which packets are received, one per process.
inline constexpr std::size_t receive_size = packet_size_max + 1;

}  // namespace lastref::tracker
