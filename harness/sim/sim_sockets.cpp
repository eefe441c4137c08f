// Sequenced-packet sockets of the simulated kernel.
//
// The order of checks is that of net/unix/af_unix.c in Linux 6.1.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "harness/sim/sim_bytes.hpp"
#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {
namespace {

constexpr std::size_t path_size_max = 107;

// The part of its sender's buffer that a packet takes: an sk_buff, and the slab with the bytes and
// a skb_shared_info; beyond four pages, pages. net/core/skbuff.c, __alloc_skb and
// alloc_skb_with_frags.
std::size_t cost_of(std::size_t size) {
  constexpr std::size_t sk_buff = 256;
  constexpr std::size_t shared_info = 320;
  constexpr std::size_t smallest = 512;
  constexpr std::size_t largest = 4 * Pipe::page_size;
  const std::size_t beyond = size + shared_info > largest ? size + shared_info - largest : 0;
  const std::size_t slab = std::bit_ceil(std::max(size + shared_info - beyond, smallest));
  return sk_buff + slab + (beyond + Pipe::page_size - 1) / Pipe::page_size * Pipe::page_size;
}

// An error is reported once, to the first call that asks.
int take_error(Socket& socket) {
  return std::exchange(socket.error, 0);
}

}  // namespace

Socket::~Socket() {
  if (const auto other = peer.lock()) {
    other->shut = true;
    if (!inbox.empty() || embryo) {
      other->error = ECONNRESET;
    }
  }
}

Answer<std::shared_ptr<Socket>> SimKernel::socket_of(const SimProcess& caller, os::Fd fd) {
  const auto open = description(caller, fd);
  if (!open) {
    return refused(EBADF);
  }
  return open->socket ? Answer<std::shared_ptr<Socket>>(open->socket) : refused(ENOTSOCK);
}

Answer<os::Fd> SimKernel::make_socket(SimProcess& caller) {
  auto description = std::make_shared<Description>();
  description->kind = DescriptionKind::socket;
  description->socket = std::make_shared<Socket>();
  description->socket->number = next_number_++;
  return install(caller, std::move(description));
}

Answer<void> SimKernel::bind(SimProcess& caller, os::Fd fd, const std::string& path) {
  const auto socket = socket_of(caller, fd);
  if (!socket) {
    return refused(socket.error());
  }
  if (path.size() > path_size_max) {
    return refused(ENAMETOOLONG);
  }
  // The node is made before the socket is checked, and removed again: af_unix.c, unix_bind_bsd.
  auto at = entry_for_new(caller, path);
  if (!at) {
    return refused(at.error() == EEXIST ? EADDRINUSE : at.error());
  }
  accesses.touch(Part::socket, (*socket)->number, Access::write);
  if ((*socket)->address) {
    return refused(EINVAL);
  }
  (*socket)->address = link(caller, *at, os::FileKind::socket, 0777);
  (*socket)->address->bound = *socket;
  return {};
}

Answer<void> SimKernel::listen(SimProcess& caller, os::Fd fd) {
  const auto socket = socket_of(caller, fd);
  if (!socket) {
    return refused(socket.error());
  }
  accesses.touch(Part::socket, (*socket)->number, Access::write);
  accesses.touch(Shared::listeners, Access::write);
  if (!(*socket)->address || (*socket)->state == Socket::State::connected) {
    return refused(EINVAL);
  }
  ++changes;
  (*socket)->state = Socket::State::listening;
  (*socket)->here = {.pid = caller.pid, .user = caller.user};
  return {};
}

Answer<void> SimKernel::connect(SimProcess& caller, os::Fd fd, const std::string& path) {
  const auto socket = socket_of(caller, fd);
  if (!socket) {
    return refused(socket.error());
  }
  if (path.size() > path_size_max) {
    return refused(ENAMETOOLONG);
  }
  const auto at = walk(caller, path);
  if (!at) {
    return refused(at.error());
  }
  if (!at->found) {
    return refused(ENOENT);
  }
  accesses.touch(Part::attributes, at->found->number, Access::read);
  accesses.touch(Part::socket, (*socket)->number, Access::write);
  accesses.touch(Shared::listeners, Access::write);
  if (caller.user != 0 && caller.user != at->found->owner && (at->found->mode & 02U) == 0) {
    return refused(EACCES);
  }
  const auto listener = at->found->bound.lock();
  if (!listener || listener->state != Socket::State::listening || listener->shut) {
    return refused(ECONNREFUSED);
  }
  // unix_recvq_full: one more than the backlog may wait.
  if (listener->waiting.size() > limits.backlog) {
    return refused(EAGAIN);
  }
  if ((*socket)->state != Socket::State::fresh) {
    return refused((*socket)->state == Socket::State::connected ? EISCONN : EINVAL);
  }
  ++changes;
  auto embryo = std::make_shared<Socket>();
  embryo->number = next_number_++;
  embryo->embryo = true;
  embryo->address = listener->address;
  embryo->state = (*socket)->state = Socket::State::connected;
  embryo->peer = *socket;
  (*socket)->peer = embryo;
  embryo->there = {.pid = caller.pid, .user = caller.user};
  (*socket)->there = listener->here;
  listener->waiting.push_back(std::move(embryo));
  return {};
}

Answer<os::Fd> SimKernel::accept(SimProcess& caller, os::Fd fd) {
  const auto socket = socket_of(caller, fd);
  if (!socket) {
    return refused(socket.error());
  }
  if (!has_space(caller)) {
    return refused(EMFILE);
  }
  accesses.touch(Part::socket, (*socket)->number, Access::read);
  accesses.touch(Shared::listeners, Access::write);
  if ((*socket)->state != Socket::State::listening) {
    return refused(EINVAL);
  }
  if ((*socket)->waiting.empty()) {
    return refused(EAGAIN);
  }
  ++changes;
  auto accepted = std::move((*socket)->waiting.front());
  (*socket)->waiting.pop_front();
  accesses.touch(Part::socket, accepted->number, Access::write);
  accepted->embryo = false;
  auto description = std::make_shared<Description>();
  description->kind = DescriptionKind::socket;
  description->socket = std::move(accepted);
  return install(caller, std::move(description));
}

Answer<void> SimKernel::send(SimProcess& caller,
                             os::Fd fd,
                             os::Bytes message,
                             std::span<const os::Fd> fds) {
  const auto found = socket_of(caller, fd);
  if (!found) {
    return refused(found.error());
  }
  Socket& socket = **found;
  Packet packet{.bytes = text_of(message), .fds = {}, .cost = 0};
  packet.cost = cost_of(message.size());
  accesses.touch(Part::socket, socket.number, socket.error != 0 ? Access::write : Access::read);
  accesses.touch(Part::sent, socket.number, Access::write);
  if (const int error = take_error(socket); error != 0) {
    ++changes;
    return refused(error);
  }
  if (socket.state != Socket::State::connected) {
    return refused(ENOTCONN);
  }
  if (fds.size() > os::fds_max) {
    return refused(EINVAL);
  }
  for (const os::Fd passed : fds) {
    packet.fds.push_back(description(caller, passed));
    if (!packet.fds.back()) {
      return refused(EBADF);
    }
    if (!pipes_travel && packet.fds.back()->pipe) {
      accesses.touch_all();  // Calls on pipes are private no more.
      pipes_travel = true;
    }
  }
  if (message.size() + 32 > limits.socket_buffer) {
    return refused(EMSGSIZE);
  }
  const auto peer = socket.peer.lock();
  if (socket.shut || !peer) {
    return refused(EPIPE);
  }
  // The order of this and what the peer receives matters if the buffer could be full.
  if (socket.cost_of_all >= limits.socket_buffer) {
    accesses.touch(Part::cost, socket.number, Access::read);
  }
  if (socket.cost >= limits.socket_buffer) {
    return refused(EAGAIN);
  }
  ++changes;
  accesses.touch(Part::packet, peer->number, Access::write, peer->arrived++);
  socket.cost += packet.cost;
  socket.cost_of_all += packet.cost;
  peer->inbox.push_back(std::move(packet));
  return {};
}

Answer<os::Received> SimKernel::receive(SimProcess& caller, os::Fd fd, os::Buffer into) {
  const auto found = socket_of(caller, fd);
  if (!found) {
    return refused(found.error());
  }
  Socket& socket = **found;
  accesses.touch(Part::socket, socket.number, socket.error != 0 ? Access::write : Access::read);
  accesses.touch(Part::received, socket.number, Access::write);
  if (socket.state != Socket::State::connected) {
    return refused(ENOTCONN);
  }
  if (const int error = take_error(socket); error != 0) {
    ++changes;
    return refused(error);
  }
  os::Received received;
  const bool is_empty = socket.inbox.empty();
  accesses.touch(
      Part::packet, socket.number, is_empty ? Access::read : Access::write, socket.taken);
  if (socket.inbox.empty()) {
    return socket.shut ? Answer<os::Received>(received) : refused(EAGAIN);
  }
  ++changes;
  Packet packet = std::move(socket.inbox.front());
  socket.inbox.pop_front();
  ++socket.taken;
  if (const auto peer = socket.peer.lock()) {
    accesses.touch(Part::cost, peer->number, Access::add);
    peer->cost -= packet.cost;
  }
  received.size = copy_out(packet.bytes, into);
  received.truncated = received.size < packet.bytes.size();
  for (auto& passed : packet.fds) {
    const auto here = install(caller, passed);
    received.truncated = received.truncated || !here;
    if (!here) {
      accesses.touch_all();  // What it has open may end here.
      break;
    }
    received.fds.push_back(*here);
  }
  return received;
}

void SimKernel::note_look(const Socket& socket, const os::PollItem& item) const {
  accesses.touch(Part::socket, socket.number, Access::read);
  if (socket.state == Socket::State::listening) {
    accesses.touch(Shared::listeners, Access::read);
    return;
  }
  if (item.want_read) {
    accesses.touch(Part::received, socket.number, Access::read);
    accesses.touch(Part::packet, socket.number, Access::read, socket.taken);
  }
  if (item.want_write && socket.cost_of_all * 4 > limits.socket_buffer) {
    accesses.touch(Part::cost, socket.number, Access::read);
  }
}

Answer<void> SimKernel::shut_down(SimProcess& caller, os::Fd fd) {
  const auto socket = socket_of(caller, fd);
  if (!socket) {
    return refused(socket.error());
  }
  ++changes;
  accesses.touch(Part::socket, (*socket)->number, Access::write);
  accesses.touch(Shared::listeners, Access::write);  // It may be one.
  (*socket)->shut = true;
  if (const auto peer = (*socket)->peer.lock()) {
    accesses.touch(Part::socket, peer->number, Access::write);
    peer->shut = true;
  }
  return {};
}

Answer<os::Peer> SimKernel::peer_of(SimProcess& caller, os::Fd fd) {
  const auto socket = socket_of(caller, fd);
  if (!socket) {
    return refused(socket.error());
  }
  accesses.touch(Part::socket, (*socket)->number, Access::read);
  switch ((*socket)->state) {
    case Socket::State::fresh:
      return refused(ENOTCONN);
    case Socket::State::listening:
      return (*socket)->here;
    case Socket::State::connected:
      break;
  }
  return (*socket)->there;
}

}  // namespace lastref::harness::sim
