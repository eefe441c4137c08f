// kernel_os_sockets: Unix sockets that preserve message boundaries, pipes, and poll.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <lastref/kernel_os.hpp>

#include "impl/os/kernel_os_error.hpp"
#include "impl/os/kernel_os_numbers.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::os {
namespace {

/// Space for exactly fds_max descriptors: the count is even, so alignment adds no space for one
/// more.
struct alignas(cmsghdr) Control {
  std::array<std::byte, CMSG_SPACE(fds_max * sizeof(int))> bytes;
};

/// This many items are polled without a heap allocation.
constexpr std::size_t items_at_hand = 64;

/// A socket's address; its size is 0, and errno is set, if `path` cannot be one.
struct Address {
  sockaddr_un un{};
  socklen_t size = 0;
};

Address address_of(const std::string& path) noexcept {
  Address address;
  // An empty path or a leading NUL would be a name outside of the file system. unix(7), "abstract".
  if (path.empty()) {
    errno = ENOENT;
    return address;
  }
  if (path.find('\0') != std::string::npos) {
    errno = EINVAL;
    return address;
  }
  if (path.size() >= sizeof address.un.sun_path) {
    errno = ENAMETOOLONG;
    return address;
  }
  address.un.sun_family = AF_UNIX;
  std::ranges::copy(path, address.un.sun_path);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

const sockaddr* pointer_to(const Address& address) noexcept {
  return static_cast<const sockaddr*>(static_cast<const void*>(&address.un));
}

/// Puts the descriptors into `control`, and `control` into the message.
void attach(msghdr& message, Control& control, std::span<const Fd> fds) noexcept {
  message.msg_control = control.bytes.data();
  message.msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
}

/// Calls `take` with the descriptors that came with a message, some at a time. They are open in
/// this process, whatever else is wrong.
template <typename Take>
void each_attached_to(msghdr& message, Take take) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    std::array<Fd, sizeof(Control) / sizeof(Fd)> fds{};
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(Fd);
    std::memcpy(fds.data(), CMSG_DATA(header), count * sizeof(Fd));
    take(std::span(fds).first(count));
  }
}

std::vector<Fd> attached_to(msghdr& message) {
  std::vector<Fd> fds;
  each_attached_to(
      message, [&](std::span<const Fd> more) { fds.insert(fds.end(), more.begin(), more.end()); });
  return fds;
}

bool has(short events, int wanted) noexcept {
  return (events & wanted) != 0;
}

pollfd to_pollfd(const PollItem& item) noexcept {
  int events = 0;
  events |= item.want_read ? POLLIN : 0;
  events |= item.want_write ? POLLOUT : 0;
  return {.fd = number(item.fd), .events = static_cast<short>(events), .revents = 0};
}

/// A closed end does not block either: the end of a pipe is POLLHUP alone.
void tell(PollItem& item, short events) noexcept {
  const bool over = has(events, POLLHUP | POLLERR);
  item.readable = item.want_read && (over || has(events, POLLIN));
  item.writable = item.want_write && (over || has(events, POLLOUT));
  item.hung_up = over || has(events, POLLNVAL);
}

timespec to_timespec(std::chrono::nanoseconds time) noexcept {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time);
  return {.tv_sec = whole.count(), .tv_nsec = (time - whole).count()};
}

}  // namespace

static_assert(sizeof(Fd) == sizeof(int));

Result<Fd> KernelOs::make_socket() noexcept {
  const StandardNumbers kept;
  const int fd =
      above_standard(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd < 0) {
    return failed(Call::make_socket, std::string());
  }
  return Fd{fd};
}

Status KernelOs::bind(Fd socket, const std::string& path) noexcept {
  const Address address = address_of(path);
  if (address.size == 0) {
    return failed(Call::bind, path);
  }
  return status_of(::bind(number(socket), pointer_to(address), address.size), Call::bind, path);
}

Status KernelOs::listen(Fd socket) noexcept {
  return status_of(::listen(number(socket), SOMAXCONN), Call::listen, socket);
}

Result<Fd> KernelOs::accept(Fd socket) noexcept {
  const StandardNumbers kept;
  const int fd =
      above_standard(::accept4(number(socket), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd < 0) {
    return failed(Call::accept, socket);
  }
  return Fd{fd};
}

Status KernelOs::connect(Fd socket, const std::string& path) noexcept {
  const Address address = address_of(path);
  if (address.size == 0) {
    return failed(Call::connect, path);
  }
  return status_of(
      ::connect(number(socket), pointer_to(address), address.size), Call::connect, path);
}

Status KernelOs::send(Fd socket, Bytes message, std::span<const Fd> fds) noexcept {
  if (fds.size() > fds_max) {
    errno = EINVAL;
    return failed(Call::send, socket);
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): sendmsg only reads, iovec cannot say so.
  iovec part{.iov_base = const_cast<std::byte*>(message.data()), .iov_len = message.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  Control control{};
  if (!fds.empty()) {
    attach(header, control, fds);
  }
  const ssize_t size = ::sendmsg(number(socket), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  return size < 0 ? Status(failed(Call::send, socket)) : ok();
}

Result<Received> KernelOs::receive(Fd socket, Buffer into) noexcept {
  iovec part{.iov_base = into.data(), .iov_len = into.size()};
  Control control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes.data();
  header.msg_controllen = control.bytes.size();
  const StandardNumbers kept;
  const ssize_t size = ::recvmsg(number(socket), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size < 0) {
    return failed(Call::receive, socket);
  }
  Received received{.size = static_cast<std::size_t>(size),
                    .fds = {},
                    .truncated = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0};
  if (!had_memory([&] { received.fds = attached_to(header); })) {
    each_attached_to(header, [](std::span<const Fd> fds) {
      std::ranges::for_each(fds, [](Fd fd) { ::close(number(fd)); });
    });
    return no_memory("receive");
  }
  for (Fd& fd : received.fds) {
    fd = Fd{above_standard(number(fd))};
  }
  received.truncated = std::erase(received.fds, Fd::none) > 0 || received.truncated;
  return received;
}

Status KernelOs::shut_down(Fd socket) noexcept {
  return status_of(::shutdown(number(socket), SHUT_RDWR), Call::shut_down, socket);
}

Result<Peer> KernelOs::peer_of(Fd socket) noexcept {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(number(socket), SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
    return failed(Call::peer_of, socket);
  }
  if (peer.uid == static_cast<uid_t>(-1)) {
    // There is no peer yet. The kernel reports that with this user, and not with an error.
    errno = ENOTCONN;
    return failed(Call::peer_of, socket);
  }
  return Peer{.pid = peer.pid, .user = peer.uid};
}

Result<PipeEnds> KernelOs::make_pipe() noexcept {
  const StandardNumbers kept;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC) < 0) {
    return failed(Call::make_pipe, std::string());
  }
  ends = {above_standard(ends[0]), above_standard(ends[1])};
  if (const auto lost = std::ranges::find(ends, -1); lost != ends.end()) {
    auto why = failed(Call::make_pipe, std::string());
    ::close(std::max(ends[0], ends[1]));
    return why;
  }
  return PipeEnds{.read = Fd{ends[0]}, .write = Fd{ends[1]}};
}

Result<std::size_t> KernelOs::poll(std::span<PollItem> items,
                                   std::optional<std::chrono::nanoseconds> timeout) noexcept {
  std::array<pollfd, items_at_hand> at_hand{};
  std::vector<pollfd> many;
  std::span<pollfd> asked(at_hand);
  if (items.size() > at_hand.size()) {
    if (!had_memory([&] { many.resize(items.size()); })) {
      return no_memory("poll");
    }
    asked = many;
  }
  asked = asked.first(items.size());
  std::ranges::transform(items, asked.begin(), to_pollfd);

  const timespec time = to_timespec(std::max(timeout.value_or(Instant(0)), Instant(0)));
  const int count =
      ::ppoll(asked.data(), asked.size(), timeout.has_value() ? &time : nullptr, nullptr);
  if (count < 0) {
    return failed(Call::poll, std::string());
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    tell(items[i], asked[i].revents);
  }
  return static_cast<std::size_t>(count);
}

}  // namespace lastref::os
