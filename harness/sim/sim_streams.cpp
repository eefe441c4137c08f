// Pipes, plain reads and writes, and polling of the simulated kernel.
//
// The order of checks is that of fs/pipe.c in Linux; poll reports the same as fs/pipe.c,
// net/unix/af_unix.c and fs/pidfs.c.
#include <algorithm>
#include <cerrno>

#include "harness/sim/sim_bytes.hpp"
#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {
namespace {

Answer<std::size_t> read_pipe(Pipe& pipe, os::Buffer into) {
  if (into.empty()) {
    return 0;
  }
  if (pipe.pages.empty()) {
    return pipe.writers > 0 ? refused(EAGAIN) : Answer<std::size_t>(0);
  }
  std::size_t total = 0;
  while (total < into.size() && !pipe.pages.empty()) {
    Pipe::Page& page = pipe.pages.front();
    const std::size_t size =
        copy_out(std::string_view(page.bytes).substr(page.taken), into.subspan(total));
    total += size;
    page.taken += size;
    if (page.taken == page.bytes.size()) {
      pipe.pages.pop_front();
    }
  }
  return total;
}

/// What poll(2) would report for a descriptor.
struct Events {
  bool in = false;
  bool out = false;
  bool over = false;  ///< POLLHUP or POLLERR
};

Events events_of(const Socket& socket, const SimLimits& limits) {
  const bool waiting = !socket.inbox.empty() || !socket.waiting.empty();
  const bool space = socket.cost * 4 <= limits.socket_buffer;
  switch (socket.state) {
    case Socket::State::fresh:
      return {.in = socket.shut, .out = true, .over = true};
    case Socket::State::listening:
      return {.in = waiting || socket.shut, .out = space, .over = socket.shut};
    case Socket::State::connected:
      break;
  }
  return {.in = waiting || socket.shut, .out = space, .over = socket.shut || socket.error != 0};
}

Events events_of(const Description& open, const SimLimits& limits) {
  switch (open.kind) {
    case DescriptionKind::socket:
      return events_of(*open.socket, limits);
    case DescriptionKind::pipe_read:
      return {.in = !open.pipe->pages.empty(), .out = false, .over = open.pipe->writers == 0};
    case DescriptionKind::pipe_write:
      return {.in = false,
              .out = open.pipe->pages.size() < Pipe::pages_max,
              .over = open.pipe->readers == 0};
    case DescriptionKind::process: {
      // POLLHUP when it is reaped: Linux 6.9.
      const SimProcess::State state = open.process->state;
      const bool reaped = state == SimProcess::State::reaped;
      return {.in = reaped || state == SimProcess::State::zombie, .out = false, .over = reaped};
    }
    case DescriptionKind::file:
    case DescriptionKind::stream:
      break;
  }
  return {.in = true, .out = true, .over = false};
}

void look_at(const Description& open, const SimLimits& limits, os::PollItem& item) {
  const Events events = events_of(open, limits);
  item.readable = item.want_read && (events.in || events.over);
  item.writable = item.want_write && (events.out || events.over);
  item.hung_up = events.over;
}

/// An output stream that no process reads any more.
bool is_full(const Description& open, const SimProcess& caller) noexcept {
  return open.kind == DescriptionKind::stream && caller.is_unread;
}

}  // namespace

Description::~Description() {
  if (kind == DescriptionKind::pipe_read) {
    --pipe->readers;
  } else if (kind == DescriptionKind::pipe_write) {
    --pipe->writers;
  }
}

Answer<std::size_t> SimKernel::read(SimProcess& caller, os::Fd fd, os::Buffer into) {
  const auto open = description(caller, fd);
  if (!open) {
    return refused(EBADF);
  }
  switch (open->kind) {
    case DescriptionKind::file: {
      if (open->inode->kind == os::FileKind::folder) {
        return refused(EISDIR);
      }
      accesses.touch(Part::offset, open->number, Access::write);
      note_read(*open->inode, open->offset, into.size());
      settle(*open->inode, open->offset, into.size());
      const std::string_view bytes = open->inode->bytes;
      const std::size_t size = copy_out(bytes.substr(std::min(open->offset, bytes.size())), into);
      open->offset += size;
      return size;
    }
    case DescriptionKind::pipe_read:
      ++changes;
      accesses.touch(Part::pipe, open->pipe->number, Access::write);
      return read_pipe(*open->pipe, into);
    case DescriptionKind::pipe_write:
      return refused(EBADF);
    case DescriptionKind::stream:
      return 0;
    case DescriptionKind::socket: {
      const auto received = receive(caller, fd, into);
      return received ? Answer<std::size_t>(received->size) : refused(received.error());
    }
    case DescriptionKind::process:
      break;
  }
  return refused(EINVAL);
}

Answer<std::size_t> SimKernel::write_pipe(Pipe& pipe, os::Bytes bytes) {
  if (pipe.readers == 0) {
    return refused(EPIPE);
  }
  if (bytes.empty()) {
    return 0;
  }
  std::size_t total = 0;
  const std::size_t odd = bytes.size() % Pipe::page_size;
  if (odd > 0 && !pipe.pages.empty()) {
    Pipe::Page& last = pipe.pages.back();
    if (last.bytes.size() + odd <= Pipe::page_size) {
      last.bytes += text_of(bytes.first(odd));
      total = odd;
    }
  }
  while (total < bytes.size() && pipe.pages.size() < Pipe::pages_max) {
    const auto page = bytes.subspan(total, std::min(Pipe::page_size, bytes.size() - total));
    pipe.pages.push_back({.bytes = text_of(page), .taken = 0});
    total += page.size();
  }
  return total == 0 ? refused(EAGAIN) : Answer<std::size_t>(total);
}

Answer<std::size_t> SimKernel::write(SimProcess& caller, os::Fd fd, os::Bytes bytes) {
  const auto open = description(caller, fd);
  if (!open) {
    return refused(EBADF);
  }
  switch (open->kind) {
    case DescriptionKind::file: {
      if (!open->writable) {
        return refused(EBADF);
      }
      if (bytes.empty()) {
        return 0;  // It does not even move the offset to the end.
      }
      accesses.touch(Part::offset, open->number, Access::write);
      const std::uint64_t offset = open->append ? open->inode->bytes.size() : open->offset;
      const auto size = store(caller, open->inode, bytes, offset);
      if (size) {
        open->offset = offset + *size;
      }
      return size;
    }
    case DescriptionKind::pipe_write:
      ++changes;
      accesses.touch(Part::pipe, open->pipe->number, Access::write);
      return write_pipe(*open->pipe, bytes);
    case DescriptionKind::pipe_read:
      return refused(EBADF);
    case DescriptionKind::stream:
      accesses.touch(Shared::output, Access::write);
      if (caller.is_unread) {
        return refused(EAGAIN);
      }
      standard_error += text_of(bytes);
      return bytes.size();
    case DescriptionKind::socket: {
      const auto sent = send(caller, fd, bytes, {});
      return sent ? Answer<std::size_t>(bytes.size()) : refused(sent.error());
    }
    case DescriptionKind::process:
      break;
  }
  return refused(EINVAL);
}

Answer<os::PipeEnds> SimKernel::make_pipe(SimProcess& caller) {
  if (!has_space(caller, 2)) {
    return refused(EMFILE);
  }
  const auto pipe = std::make_shared<Pipe>();
  pipe->number = next_number_++;
  const auto end = [&](DescriptionKind kind) {
    auto description = std::make_shared<Description>();
    description->kind = kind;
    description->pipe = pipe;
    ++(kind == DescriptionKind::pipe_read ? pipe->readers : pipe->writers);
    return *install(caller, std::move(description));
  };
  const os::Fd read_end = end(DescriptionKind::pipe_read);
  return os::PipeEnds{.read = read_end, .write = end(DescriptionKind::pipe_write)};
}

std::size_t SimKernel::look(const SimProcess& caller, std::span<os::PollItem> items) const {
  std::size_t ready = 0;
  for (os::PollItem& item : items) {
    item.readable = item.writable = item.hung_up = false;
    if (item.fd == os::Fd::none) {
      continue;
    }
    if (const Description* open = find(caller, item.fd); open != nullptr) {
      look_at(*open, limits, item);
      item.writable = item.writable && !is_full(*open, caller);
    } else {
      item.hung_up = true;
    }
    ready += item.readable || item.writable || item.hung_up ? 1 : 0;
  }
  return ready;
}

void SimKernel::note_look(const SimProcess& caller, std::span<const os::PollItem> items) const {
  for (const os::PollItem& item : items) {
    const Description* const open = item.fd == os::Fd::none ? nullptr : find(caller, item.fd);
    if (open == nullptr) {
      continue;
    }
    switch (open->kind) {
      case DescriptionKind::socket:
        note_look(*open->socket, item);
        break;
      case DescriptionKind::pipe_read:
      case DescriptionKind::pipe_write:
        accesses.touch(Part::pipe, open->pipe->number, Access::read);
        break;
      case DescriptionKind::process:
        accesses.touch(Part::death, open->process->token, Access::read);
        break;
      case DescriptionKind::file:
      case DescriptionKind::stream:
        break;  // Always ready
    }
  }
}

bool SimKernel::is_ready(const SimProcess& caller, std::span<const os::PollItem> items) const {
  return std::any_of(items.begin(), items.end(), [&](os::PollItem item) {
    return look(caller, std::span(&item, 1)) > 0;
  });
}

}  // namespace lastref::harness::sim
