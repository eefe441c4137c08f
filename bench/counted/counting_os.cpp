#include "bench/counted/counting_os.hpp"

#include <utility>

#include "impl/tracker/codec.hpp"

namespace lastref::bench {

CountingOs::CountingOs(os::KernelOptions options) : OsAround(kernel_), kernel_(std::move(options)) {
  const std::string plant = kernel_.environment("LASTREF_COUNTED_PLANT").value_or("");
  plant_ = plant == "extra_call"      ? Plant::extra_call
           : plant == "extra_copy"    ? Plant::extra_copy
           : plant == "extra_message" ? Plant::extra_message
                                      : Plant::nothing;
}

Result<os::Child> CountingOs::spawn(const os::SpawnOptions& options) noexcept {
  auto child = every<Call::spawn>(options);
  if (child) {
    child->pid = long_number(child->pid);
  }
  return child;
}

Result<os::Peer> CountingOs::peer_of(os::Fd socket) noexcept {
  auto peer = every<Call::peer_of>(socket);
  if (peer) {
    peer->pid = long_number(peer->pid);
  }
  return peer;
}

Result<std::optional<os::LockHolder>> CountingOs::find_lock(os::Fd fd,
                                                            const os::LockRange& range) noexcept {
  auto holder = every<Call::find_lock>(fd, range);
  if (holder && *holder) {
    (*holder)->pid = long_number((*holder)->pid);
  }
  return holder;
}

Result<std::size_t> CountingOs::poll(std::span<os::PollItem> items,
                                     std::optional<std::chrono::nanoseconds> timeout) noexcept {
  auto ready = every<Call::poll>(items, timeout);
  if (ready && *ready == 0 && timeout) {
    time_.fetch_add(timeout->count());
  }
  return ready;
}

Status CountingOs::send(os::Fd socket, os::Bytes message, std::span<const os::Fd> fds) noexcept {
  constexpr std::size_t place_of_verb = 1;
  if (plant_ == Plant::extra_call) {
    static_cast<void>(every<Call::status>(socket));
  }
  Status sent = every<Call::send>(socket, message, fds);
  const bool is_hold = message.size() > place_of_verb &&
                       message[place_of_verb] == static_cast<std::byte>(tracker::Verb::hold);
  if (plant_ == Plant::extra_message && is_hold && sent) {
    // The message has no names, so reference counts stay correct.
    const auto empty = tracker::encode_message({.verb = tracker::Verb::hold, .entries = {}});
    sent = every<Call::send>(socket, os::Bytes(empty), fds);
  }
  return sent;
}

Result<std::size_t> CountingOs::write_at(os::Fd fd,
                                         os::Bytes bytes,
                                         std::uint64_t offset) noexcept {
  if (plant_ == Plant::extra_copy) {
    copy_.assign(bytes.begin(), bytes.end());
    bytes = copy_;
  }
  return every<Call::write_at>(fd, bytes, offset);
}

}  // namespace lastref::bench
