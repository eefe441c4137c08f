#include "harness/warden/standard_input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "harness/platform/child_process.hpp"

namespace lastref::harness::warden {
namespace {

using Buffer = std::array<char, 65536>;

/// Descriptors of the feeder.
struct Feed {
  int source;  ///< Read only when it has something
  int copy;
  int program;  ///< Does not block
  int link;     ///< Has an event when the run is over.
};

/// A call that a signal interrupted, or that would block, is repeated after the next poll.
bool may_repeat() noexcept {
  return errno == EINTR || errno == EAGAIN;
}

/// Appends what the source has. Returns an error, 0, or -1 at the end of the source.
int copy_more(const Feed& feed, off_t size, Buffer& buffer) noexcept {
  const ssize_t got = ::read(feed.source, buffer.data(), buffer.size());
  if (got <= 0) {
    return got == 0 ? -1 : may_repeat() ? 0 : errno;
  }
  for (ssize_t done = 0; done < got;) {
    const auto rest = static_cast<std::size_t>(got - done);
    const ssize_t put = ::pwrite(feed.copy, &buffer[static_cast<std::size_t>(done)], rest, size);
    if (put < 0 && errno != EINTR) {
      return errno;
    }
    done += put > 0 ? put : 0;
    size += put > 0 ? put : 0;
  }
  return 0;
}

/// Writes the copy to the program, and the rest of the source to both. Returns an error, or 0 when
/// the source or the run is over.
int feed_program(const Feed& feed) noexcept {
  Buffer buffer;
  for (off_t done = 0;;) {
    struct stat status {};
    ::fstat(feed.copy, &status);
    const bool has_more = done < status.st_size;
    std::array<pollfd, 2> items = {pollfd{.fd = feed.link, .events = POLLIN, .revents = 0},
                                   pollfd{.fd = has_more ? feed.program : feed.source,
                                          .events = static_cast<short>(has_more ? POLLOUT : POLLIN),
                                          .revents = 0}};
    if (::poll(items.data(), items.size(), -1) < 0) {
      continue;
    }
    if (items[0].revents != 0) {
      return 0;
    }
    if (has_more) {
      const ssize_t got = ::pread(feed.copy, buffer.data(), buffer.size(), done);
      const ssize_t put =
          got > 0 ? ::write(feed.program, buffer.data(), static_cast<size_t>(got)) : got;
      if (put < 0 && !may_repeat()) {
        return errno == EPIPE ? 0 : errno;
      }
      done += put > 0 ? put : 0;
    } else if (const int error = copy_more(feed, status.st_size, buffer); error != 0) {
      return error > 0 ? error : 0;
    }
  }
}

/// It may become large: on a disk, if there is a folder for it.
UniqueFd file_without_name() noexcept {
  UniqueFd file(::open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
  return file ? std::move(file) : UniqueFd(::memfd_create("input", MFD_CLOEXEC));
}

}  // namespace

std::optional<std::int64_t> place_of_input() noexcept {
  struct stat status {};
  const bool is_file = ::fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode);
  const off_t place = is_file ? ::lseek(STDIN_FILENO, 0, SEEK_CUR) : -1;
  return place < 0 ? std::nullopt : std::optional<std::int64_t>(place);
}

StandardInput::StandardInput(bool several) noexcept {
  struct stat status {};
  const bool is_stream =
      ::fstat(STDIN_FILENO, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
  is_copied_ = is_stream && several;
  can_repeat_ = !is_stream || several;
  if (is_copied_) {
    copy_ = file_without_name();
  }
}

Status StandardInput::begin_run() noexcept {
  if (place_) {
    ::lseek(STDIN_FILENO, *place_, SEEK_SET);
  }
  if (!is_copied_) {
    return ok();
  }
  source_.reset(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  FdPair pipe = make_pipe();
  FdPair link = make_socket_pair(SOCK_STREAM);
  if (!copy_ || !source_ || !pipe[0] || !link[0] ||
      ::fcntl(pipe[1].get(), F_SETFL, O_NONBLOCK) != 0) {
    return failure(std::errc{errno}, "copying standard input");
  }
  feeder_ = start_child([&] {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGPIPE, SIG_IGN);
    pipe[0].reset();
    link[0].reset();
    const int error = feed_program({.source = source_.get(),
                                    .copy = copy_.get(),
                                    .program = pipe[1].get(),
                                    .link = link[1].get()});
    ::send(link[1].get(), &error, sizeof error, MSG_NOSIGNAL);
    return 0;
  });
  if (feeder_ < 0) {
    return failure(std::errc{errno}, "copying standard input");
  }
  link_ = std::move(link[0]);
  move_to(std::move(pipe[0]), STDIN_FILENO);
  return ok();
}

Status StandardInput::end_run() noexcept {
  if (!link_) {
    return ok();
  }
  move_to(std::move(source_), STDIN_FILENO);
  ::shutdown(link_.get(), SHUT_WR);
  int error = 0;
  ssize_t got = -1;
  do {
    got = ::recv(link_.get(), &error, sizeof error, MSG_WAITALL);
  } while (got < 0 && errno == EINTR);
  link_.reset();
  reap(std::exchange(feeder_, -1));
  error = got == sizeof error ? error : EPIPE;
  return error == 0 ? ok() : failure(std::errc{error}, "copying standard input");
}

}  // namespace lastref::harness::warden
