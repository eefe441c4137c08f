#include "impl/tracker/link.hpp"

#include <array>

#include <lastref/probe.hpp>

#include "impl/os/limits.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::tracker {
void Link::was_fruitless() noexcept {
  if (++fruitless_ == os::limits_of(*os_).fruitless_calls) {
    broken_ = true;
  }
}

bool Link::send(os::Bytes packet, std::span<const os::Fd> fds) noexcept {
  const Status sent = os::retry_interrupted([&] { return os_->send(fd(), packet, fds); });
  if (sent) {
    fruitless_ = 0;
    return true;
  }
  if (sent.error().code == std::errc::resource_unavailable_try_again) {
    was_fruitless();
  } else {
    broken_ = true;
    has_last_words_ = reads_to_the_end_ && sent.error().code == std::errc::broken_pipe;
  }
  return false;
}

void Link::post(Packet packet, std::span<const os::Fd> fds) noexcept {
  if (!broken_ && (!queue_.empty() || !send(packet, fds))) {
    // Descriptors cannot wait in a queue: they may be closed by then. Only announcements carry
    // some, and they are the first on a new connection, where there is space.
    broken_ = broken_ || !fds.empty();
    put_off(std::move(packet));
  }
}

void Link::put_off(Packet packet) noexcept {
  // If the peer is stopped, that is no fault of the socket.
  fruitless_ = broken_ ? fruitless_ : 0;
  os_->hit(Probe::message_waited);
  if (!os::had_memory([&] { queue_.push_back(std::move(packet)); })) {
    give_up();
  }
}

void Link::post(const Message& message) noexcept {
  if (!os::had_memory([&] { post(encode_message(message)); })) {
    give_up();
  }
}

void Link::reply(std::uint32_t id, std::errc status) noexcept {
  const auto packet = encode_reply(id, status);
  if (broken_ || (queue_.empty() && send(packet, {}))) {
    return;
  }
  if (!os::had_memory([&] { put_off(Packet(packet.begin(), packet.end())); })) {
    give_up();
  }
}

void Link::flush() noexcept {
  while (!broken_ && !queue_.empty() && send(queue_.front(), {})) {
    queue_.pop_front();
  }
}

void Link::receive_the_rest() noexcept {
  // The peer's next message fails, which shows the peer that this one was not read.
  static_cast<void>(os_->shut_down(fd()));
  broken_ = ended_;
}

/// A peer that waits for an answer gets a refusal, even if its message has another version: the
/// head of a message is the same in all versions.
Arrival Link::spoil(os::Bytes packet, std::string reason, std::errc why) noexcept {
  reason_ = std::move(reason);
  const auto asked = asked_in(packet);
  refusal_ = asked ? std::optional(Refusal{.id = *asked, .why = why}) : std::nullopt;
  return Arrival::malformed;
}

Arrival Link::receive() noexcept {
  if (broken_ && !has_last_words_) {
    return Arrival::end;
  }
  std::array<std::byte, receive_size> bytes;  // NOLINT(cppcoreguidelines-init-variables): 32 KiB
  const auto attempt = [&] {
    return os::retry_interrupted([&] { return os_->receive(fd(), bytes); });
  };
  auto arrived = attempt();
  if (failed_with(arrived, std::errc::connection_reset)) {
    // Reported once when the peer died with unread messages of ours: what it had sent can still be
    // read (Linux unix(7) sockets, unix_release_sock).
    os_->hit(Probe::read_on_after_reset);
    arrived = attempt();
  }
  if (!arrived) {
    if (arrived.error().code == std::errc::resource_unavailable_try_again && !has_last_words_) {
      was_fruitless();
      return Arrival::nothing;
    }
    give_up();
    return Arrival::end;
  }
  received_fds_.clear();
  const bool has_space = os::had_memory([&] { received_fds_.reserve(arrived->fds.size()); });
  for (const os::Fd fd : arrived->fds) {
    os::UniqueFd owned(*os_, fd);
    if (has_space) {
      received_fds_.push_back(std::move(owned));
    }
  }
  if (arrived->size == 0) {
    give_up();
    ended_ = true;
    return Arrival::end;
  }
  fruitless_ = 0;
  const os::Bytes packet = os::Bytes(bytes).first(arrived->size);
  Arrival arrival = Arrival::end;
  if (has_space && os::had_memory([&] { arrival = read(packet, arrived->truncated); })) {
    return arrival;
  }
  if (asked_in(packet) && !is_announcement(packet)) {
    return spoil(packet, {}, std::errc::not_enough_memory);
  }
  give_up();
  return Arrival::end;
}

Arrival Link::read(os::Bytes packet, bool is_truncated) {
  if (is_truncated && packet.size() > packet_size_max) {
    return spoil(packet, "too long", std::errc::message_size);
  }
  if (is_truncated) {
    return spoil(packet,
                 "with descriptors for which this process has no space (RLIMIT_NOFILE), or no use",
                 std::errc::too_many_files_open);
  }
  Result<Message> message = decode_message(packet);
  if (!message) {
    return spoil(
        packet,
        message.error().subject,
        is_of_another_version(packet) ? std::errc::protocol_not_supported : std::errc::bad_message);
  }
  received_ = *std::move(message);
  return Arrival::message;
}

}  // namespace lastref::tracker
