// instrumented_os_sockets: sockets, pipes, and waiting for them.
#include "harness/instrument/instrumented_os.hpp"

namespace lastref::harness {
namespace {

constexpr std::string_view connection_prefix = "conn:";
constexpr std::int64_t no_limit = -1;

}  // namespace

Result<os::Fd> InstrumentedOs::make_socket() noexcept {
  return cross(Call::make_socket, {}, [&](auto&, auto&) {
    auto fd = inner_.make_socket();
    if (fd) {
      names_.open(*fd, "socket");
    }
    return fd;
  });
}

Status InstrumentedOs::bind(os::Fd socket, const std::string& path) noexcept {
  const Subject subject{.object = object_of(path), .text = path};
  return cross(Call::bind, subject, [&](auto&, auto&) {
    Status bound = inner_.bind(socket, path);
    if (bound) {
      names_.open(socket, subject.object, path);
      interceptor_.bound(path);
    }
    return bound;
  });
}

Result<os::Fd> InstrumentedOs::accept(os::Fd socket) noexcept {
  return cross(Call::accept, of(socket), [&](auto&, auto&) {
    auto fd = inner_.accept(socket);
    if (fd) {
      // Bypasses the interceptor: the name must not depend on whether the product asks.
      const auto peer = inner_.peer_of(*fd);
      const std::string_view role = peer ? interceptor_.role_of(peer->pid) : std::string_view{};
      names_.open(*fd, role.empty() ? "conn" : names_.joined(connection_prefix, role));
    }
    return fd;
  });
}

Status InstrumentedOs::connect(os::Fd socket, const std::string& path) noexcept {
  return cross(Call::connect, {.object = object_of(path), .text = path}, [&](auto&, auto&) {
    Status connected = inner_.connect(socket, path);
    if (connected) {
      names_.rename(socket, "tracker");  // No other socket is ever connected to.
    }
    return connected;
  });
}

Result<os::Received> InstrumentedOs::receive(os::Fd socket, os::Buffer into) noexcept {
  const Subject subject = of(socket);
  return cross(Call::receive, subject, [&](auto&, auto&) {
    auto received = inner_.receive(socket, into);
    if (received) {
      // Descriptors arrive only with announcements, and are named after the sender's process.
      const std::string_view role = subject.object.starts_with(connection_prefix)
                                        ? subject.object.substr(connection_prefix.size())
                                        : subject.object;
      for (const os::Fd fd : received->fds) {
        names_.open(fd, names_.joined("process:", role));
      }
    }
    return received;
  });
}

Result<os::PipeEnds> InstrumentedOs::make_pipe() noexcept {
  return cross(Call::make_pipe, {}, [&](auto&, auto&) {
    auto ends = inner_.make_pipe();
    if (ends) {
      names_.open(ends->read, "pipe.read");
      names_.open(ends->write, "pipe.write");
    }
    return ends;
  });
}

Result<std::size_t> InstrumentedOs::poll(std::span<os::PollItem> items,
                                         std::optional<std::chrono::nanoseconds> timeout) noexcept {
  const Subject subject{.value = timeout ? timeout->count() : no_limit};
  return cross(Call::poll, subject, [&](PendingCall& going, const Injection& injection) {
    if (!interceptor_.serialises()) {
      return inner_.poll(items, timeout);
    }
    std::optional<os::Instant> deadline;
    for (bool late = false;;) {
      auto ready = inner_.poll(items, std::chrono::nanoseconds(0));
      if (!ready || *ready > 0 || late || timeout == std::chrono::nanoseconds(0)) {
        return ready;
      }
      if (timeout && !deadline) {
        deadline = interceptor_.now() + *timeout;
      }
      going.waited = true;
      if (deadline && (injection.late || interceptor_.is_time_over())) {
        interceptor_.time_is_over(*deadline);
        return ready;
      }
      late = !interceptor_.wait_ready(items, deadline);
    }
  });
}

}  // namespace lastref::harness
